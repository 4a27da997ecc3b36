// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/json.h"
#include "core/base/result.h"

namespace ctxfs {

/// What is in a tokenizer.json of the library tokenizers: {"type", "tokens":
/// how many the vocabulary has, "merges", "added", "first_tokens": [text],
/// "added_tokens": [text]}, at most 60 of either. Fields that are missing, or
/// of another type than expected, count as empty. Fails with kCorrupt if `text`
/// is not JSON, as WalkJson does.
Result<Json> TokenizerSummary(std::string_view text);

}  // namespace ctxfs
