// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/text.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "core/base/text.h"

namespace ctxfs {

std::string HumanSize(uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // A value that would round to 1024.0 is shown in the next unit.
  for (; value >= 1023.95; ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string WithoutControls(std::string_view text) {
  constexpr size_t kLongest = 4;  // bytes of a character
  std::string shown;
  while (!text.empty()) {
    // The shortest beginning that is UTF-8 is one character.
    size_t length = 1;
    while (length <= kLongest && !IsUtf8(text.substr(0, length))) ++length;
    const bool utf8 = length <= kLongest && length <= text.size();
    const auto first = static_cast<unsigned char>(text[0]);
    const bool ascii = first < 0x20 || first == 0x7f;
    const bool c1 =
        first == 0xc2 && utf8 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (!utf8) length = 1;
    if (!utf8 || ascii || c1) {
      shown += '?';
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return shown;
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

std::string ShownName(std::string_view name, std::FILE* to) {
  if (::isatty(::fileno(to)) != 1) return std::string(name);
  return WithoutControls(name);
}

}  // namespace ctxfs
