// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace ctxfs {

/// Returns `name` in single quotes, for a message. Replaces quotes, backslashes
/// and the bytes that Printable replaces (printable.h) with \xNN. Cuts a name
/// of more than 200 bytes.
std::string Quote(std::string_view name);

bool IsUtf8(std::string_view text);

/// Whether `text` is printable ASCII without a quote or a backslash. The JSON
/// of such a text is the text in double quotes. Most texts are such, and the
/// JSON library takes ten times as long to write one.
inline bool IsPlainText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

/// Encodes `text` as lower-case hex digits.
std::string Hex(std::string_view text);

/// Encodes `text` as base64 with padding.
std::string Base64(std::string_view text);

/// Decodes base64; nullopt if `text` is not base64 with padding.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace ctxfs
