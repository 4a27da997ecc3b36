// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/human_size.h"

#include <array>
#include <cstdio>

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

}  // namespace ctxfs
