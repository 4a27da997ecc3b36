// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Compares two JSON texts. Returns a line "POINTER: OLD -> NEW" for each of
/// the first differences (RFC 6901; "-" for a missing value), and a line that
/// counts the others. Cuts long values. Empty if a text is not JSON or the
/// values are equal.
std::vector<std::string> JsonDifference(std::string_view first,
                                        std::string_view second);

}  // namespace ctxfs
