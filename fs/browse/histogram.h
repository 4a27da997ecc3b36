// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ctxfs {

/// Bars of `counts`, side by side and at most `columns` of them, as `lines`
/// lines from the top; neighbours are added where there are more. A bar that is
/// not 0 is never empty. With `utf8` a character has eight levels.
std::vector<std::string> BarChart(const std::vector<uint64_t>& counts,
                                  size_t columns, size_t lines, bool utf8);

}  // namespace ctxfs
