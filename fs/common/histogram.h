// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ctxfs {

/// Draws `counts` as at most `columns` adjacent bars, `lines` lines high, top
/// line first; sums neighbours if there are more counts. A non-zero bar is
/// never empty. With `utf8`, each character has eight levels.
std::vector<std::string> BarChart(const std::vector<uint64_t>& counts,
                                  size_t columns, size_t lines, bool utf8);

}  // namespace ctxfs
