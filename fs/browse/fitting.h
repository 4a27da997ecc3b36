// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ctxfs {

// Printable texts in the columns of a terminal, in the character set of
// LC_CTYPE. A character takes the columns that wcwidth says.

/// Cuts `text` to `columns`; also returns the columns that it takes.
std::pair<std::string, int> Fit(std::string_view text, int columns);

/// Returns `text`, with a mark in place of its middle if it takes more than
/// `columns`: the beginnings of names in a container are often equal.
std::string FitByMiddle(std::string_view text, int columns, bool utf8);

/// Breaks `text` into lines of at most `columns`; at least one line.
std::vector<std::string> Wrapped(std::string_view text, int columns);

}  // namespace ctxfs
