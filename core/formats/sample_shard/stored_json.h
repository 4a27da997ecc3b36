// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs::sample_shard {

/// The form in which a JSON sample is shown.
enum class JsonForm : uint8_t {
  kStored,   // byte for byte, except numbers that become null
  kOneLine,  // without byte order mark and line breaks
};

/// Returns `text`, which must be exactly one JSON value, in `form`
/// (docs/formats/sampleshard.md, section 3). Copies tokens instead of parsing
/// them: numbers keep all digits, objects the order and repetitions of keys,
/// strings their escapes. NaN, Infinity and -Infinity, which Python's json
/// module adds to the standard, become null. Fails with kCorrupt (offset: byte
/// of `text`) if it is not JSON in UTF-8, and with kLimit beyond
/// limits::kJsonDepth.
Result<std::string> PassJson(std::string_view text, JsonForm form,
                             const ReadContext& context);

}  // namespace ctxfs::sample_shard
