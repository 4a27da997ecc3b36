// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Returns lines of at most about `columns` with the first elements of a usual
/// array (IsUsual), each line after the index of its first element. No line has
/// elements of two rows. Empty for complex numbers and for elements of less
/// than a byte.
Result<std::vector<std::string>> FirstValues(const ArrayInfo& array,
                                             size_t columns,
                                             const ReadContext& context);

}  // namespace ctxfs
