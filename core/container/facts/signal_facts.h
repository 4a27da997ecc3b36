// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/container/exports.h"
#include "core/container/facts/facts.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Adds type, shape and range of each array: "f32 [24, 3], -1 to 1". Ranges
/// exclude NaN and infinities. A range is omitted if the array is unreadable,
/// or if its bytes and those read before exceed 8 MiB.
Status AddSignals(const std::string& prefix,
                  const std::vector<ArrayInfo>& arrays,
                  const ReadContext& context, Facts& facts);

}  // namespace ctxfs
