// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/json/json.h"
#include "core/base/result.h"

namespace ctxfs {

/// Summarises a tokenizer.json of Hugging Face's tokenizers: {"type", "tokens":
/// size of the vocabulary, "merges": count, "added": count, "first_tokens":
/// [text], "added_tokens": [text]}, at most 60 texts each. Missing fields, and
/// those of unexpected types, count as empty. Fails with kCorrupt if `text` is
/// not JSON, like WalkJson.
Result<Json> TokenizerSummary(std::string_view text, const Request& request);

}  // namespace ctxfs
