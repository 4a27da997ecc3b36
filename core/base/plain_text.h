// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace ctxfs {

/// Whether `text` in double quotes is its own JSON: printable ASCII without a
/// quote or a backslash. Most texts are, and a JSON library takes ten times as
/// long for each.
inline bool IsPlainText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

}  // namespace ctxfs
