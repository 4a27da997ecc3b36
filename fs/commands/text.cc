// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/text.h"

namespace ctxfs {

std::string ShortSize(uint64_t bytes) {
  std::string text = HumanSize(bytes);
  const size_t space = text.find(' ');
  const std::string unit = text.substr(space + 1, 1);
  return text.substr(0, space) + (unit == "B" ? "" : unit);
}

std::string Escaped(std::string_view text, std::string_view controls) {
  std::string escaped;
  for (const char c : text) {
    if (c != '\\' && controls.find(c) == std::string_view::npos) {
      escaped += c;
      continue;
    }
    escaped += '\\';
    escaped += c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c;
  }
  return escaped;
}

}  // namespace ctxfs
