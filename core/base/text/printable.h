// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ctxfs {

/// Characters that a line of text may show as they are.
enum class Charset : uint8_t { kUtf8, kAscii };

/// Returns `text` with \xNN in place of each byte that may not stand in a line
/// for people: control characters (ASCII, DEL, U+0080 to U+009F), line
/// separators, marks that change the direction of text, and bytes that are not
/// UTF-8. With kAscii also every byte outside ASCII.
std::string Printable(std::string_view text, Charset charset = Charset::kUtf8);

/// Returns the JSON text `json` with \uXXXX in place of the same characters,
/// where JSON allows them in strings.
std::string PrintableJson(std::string_view json);

}  // namespace ctxfs
