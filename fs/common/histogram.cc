// SPDX-License-Identifier: Apache-2.0
#include "fs/common/histogram.h"

#include <algorithm>

namespace ctxfs {
namespace {

/// Sums neighbours so that at most `columns` counts remain.
std::vector<uint64_t> Merged(const std::vector<uint64_t>& counts,
                             size_t columns) {
  const size_t each = (counts.size() + columns - 1) / columns;
  std::vector<uint64_t> merged;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i % each == 0) merged.push_back(0);
    merged.back() += counts[i];
  }
  return merged;
}

/// A block filled by N eighths from the bottom.
constexpr const char* kBlocks[] = {" ",
                                   "\xE2\x96\x81",
                                   "\xE2\x96\x82",
                                   "\xE2\x96\x83",
                                   "\xE2\x96\x84",
                                   "\xE2\x96\x85",
                                   "\xE2\x96\x86",
                                   "\xE2\x96\x87",
                                   "\xE2\x96\x88"};
constexpr const char* kAscii[] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};

}  // namespace

std::vector<std::string> BarChart(const std::vector<uint64_t>& counts,
                                  size_t columns, size_t lines, bool utf8) {
  constexpr size_t kLevels = 8;
  if (counts.empty() || columns == 0 || lines == 0) return {};
  const std::vector<uint64_t> bars = Merged(counts, columns);
  const uint64_t most = std::max<uint64_t>(1, *std::ranges::max_element(bars));
  std::vector<std::string> chart(lines);
  for (const uint64_t bar : bars) {
    const auto share = static_cast<double>(bar) / static_cast<double>(most);
    const auto height =
        static_cast<size_t>(share * static_cast<double>(lines * kLevels) + 0.5);
    const size_t shown = bar == 0 ? 0 : std::max<size_t>(height, 1);
    for (size_t line = 0; line < lines; ++line) {
      const size_t below = (lines - 1 - line) * kLevels;
      const size_t level = std::clamp(shown, below, below + kLevels) - below;
      chart[line] += utf8 ? kBlocks[level] : kAscii[level];
    }
  }
  return chart;
}

}  // namespace ctxfs
