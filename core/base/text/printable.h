// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ctxfs {

/// Characters that may appear unescaped in a line of text.
enum class Charset : uint8_t { kUtf8, kAscii };

/// Returns `text` with \xNN in place of each byte that is unsafe in a line for
/// people: control characters (ASCII, DEL, U+0080 to U+009F), line separators,
/// marks that change the direction of text, the byte order mark, and bytes that
/// are not UTF-8. With kAscii also every byte outside ASCII.
std::string Printable(std::string_view text, Charset charset = Charset::kUtf8);

/// Returns the JSON text `json` with \uXXXX in place of the unsafe characters
/// from DEL on, which JSON allows unescaped in strings. Leaves bytes that are
/// not UTF-8 unchanged.
std::string PrintableJson(std::string_view json);

}  // namespace ctxfs
