// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs::sample_shard {

/// How a sample that is stored as JSON is shown.
enum class JsonForm : uint8_t {
  kStored,   // byte for byte
  kOneLine,  // without a byte order mark and line breaks between tokens
};

/// Returns `text`, which must be exactly one JSON value, in `form`
/// (docs/formats/sampleshard.md, section 3). No token is parsed and written
/// again: numbers keep all their digits, objects the order and the repetitions
/// of their keys, strings their escapes. The numbers that Python's json module
/// adds to the standard (NaN, Infinity, -Infinity) become null. Fails with
/// kCorrupt (offset: byte within `text`) if it is not JSON in UTF-8, with
/// kLimit if it is nested deeper than limits::kJsonDepth.
Result<std::string> PassJson(std::string_view text, JsonForm form,
                             const ReadContext& context);

}  // namespace ctxfs::sample_shard
