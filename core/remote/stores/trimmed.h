// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ctxfs::remote {

/// `text` without spaces, tabs and line breaks at its ends.
inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t from = text.find_first_not_of(kSpace);
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) + 1 - from);
}

}  // namespace ctxfs::remote
