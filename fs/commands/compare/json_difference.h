// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Compares two JSON texts. Returns a line "POINTER: OLD -> NEW" for each of
/// the first values that differ (RFC 6901; "-" stands for no value), and a last
/// line that counts the others. Long values are cut. Empty if one text is not
/// JSON, or if they have the same values.
std::vector<std::string> JsonDifference(std::string_view first,
                                        std::string_view second);

}  // namespace ctxfs
