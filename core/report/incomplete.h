// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Returns why `views/` lacks the file of all arrays or of the table
/// (CheckComplete): "there is no views/model.safetensors: ..."; nullopt if
/// neither is lacking. Fails with passing errors (Error::Passing), and if the
/// work limit of the request is exceeded.
Result<std::optional<std::string>> IncompleteText(const Container& container,
                                                  const ReadContext& context);

}  // namespace ctxfs
