// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ctxfs {

/// "1.5 GiB", "17 B".
std::string HumanSize(uint64_t bytes);

/// Returns `text` with '?' for what may control a terminal: ASCII and C1
/// control characters (U+0080 to U+009F), and bytes that are not UTF-8.
std::string WithoutControls(std::string_view text);

/// Returns `text` with a backslash and a letter, or another backslash, for each
/// backslash and for those of newline, carriage return and tab that are in
/// `controls`.
std::string Escaped(std::string_view text, std::string_view controls);

/// Returns a name or message to be printed to `to`: unchanged, or on a terminal
/// without controls.
std::string ShownName(std::string_view name, std::FILE* to = stdout);

}  // namespace ctxfs
