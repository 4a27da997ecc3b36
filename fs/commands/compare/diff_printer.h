// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fs/commands/compare/diff_groups.h"
#include "fs/commands/compare/diff_result.h"
#include "fs/common/terminal.h"

namespace ctxfs {

/// Prints the differences for people, no wider than the terminal.
class DiffPrinter {
 public:
  DiffPrinter() : DiffPrinter(Terminal::Of(stdout)) {}
  explicit DiffPrinter(const Terminal& terminal) : terminal_(terminal) {}

  /// Prints a line for each of the first containers that lack entries, and one
  /// line for all others.
  void PrintIncomplete(const DiffResult& result) const;
  /// Prints a line for each group, and below it the differences of its values.
  void Print(const std::vector<DiffGroup>& groups) const;
  /// Prints a line for each group with its bytes and a bar for them.
  void PrintStat(const std::vector<DiffGroup>& groups) const;

 private:
  void PrintGroup(const DiffGroup& group, double most) const;
  void PrintValues(const ValueDifference& values) const;
  /// Prints `name`, `text` and `bar` in one line. On a terminal that is too
  /// narrow, prints `name`, shortened if necessary, and below it the rest in as
  /// many lines as it needs.
  void Line(Colour colour, char mark, const std::string& name,
            const std::string& text, const std::string& bar = {}) const;
  void Below(const std::string& text) const;

  const Terminal terminal_;
};

/// `text` without its middle if it is wider than `width`.
std::string ShortenedInMiddle(const std::string& text, size_t width);

/// Lines of at most `width` columns, broken at spaces; a word that is wider
/// than a line is broken, too.
std::vector<std::string> WrappedLines(std::string_view text, size_t width);

}  // namespace ctxfs
