// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

enum class Colour { kNone, kBold, kRed, kGreen, kYellow, kBlue };

/// How to print to a stream: with colours and columns on a terminal, as plain
/// lines to a pipe or file.
class Terminal {
 public:
  /// `stream` is standard output or standard error. No colours if NO_COLOR is
  /// set and not empty (https://no-color.org) or TERM is "dumb".
  static Terminal Of(std::FILE* stream);

  Terminal(bool terminal, bool colours, size_t width)
      : terminal_(terminal), colours_(colours), width_(width) {}

  bool is_terminal() const { return terminal_; }
  /// Columns per line; 80 if unknown.
  size_t width() const { return width_; }

  /// Wraps `text` in the escape sequences of `colour`; unchanged without
  /// colours.
  std::string Paint(Colour colour, std::string_view text) const;

 private:
  bool terminal_;
  bool colours_;
  size_t width_;
};

/// Returns how many columns `text` takes: one for each code point. If it is not
/// UTF-8, each byte that is not a continuation byte counts as one.
size_t DisplayWidth(std::string_view text);

/// Rows of cells in aligned columns.
class TextTable {
 public:
  /// `numbers` are the indices of right-aligned columns.
  TextTable(std::vector<std::string> header, std::vector<size_t> numbers)
      : rows_{std::move(header)}, numbers_(std::move(numbers)) {}

  /// `row` must have as many cells as the header.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  /// The bold header and the rows, each line after `indent`, with two spaces
  /// between columns.
  std::string Aligned(const Terminal& terminal, std::string_view indent) const;
  /// The rows without header, separated by tabs. For scripts.
  std::string Separated() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> numbers_;
};

/// Lays out `names` in as many columns as fit into `width`, ordered downwards
/// like ls(1), with directories (names that end in a slash) in blue. Lines end
/// with newlines.
std::string InColumns(const std::vector<std::string>& names, size_t width,
                      const Terminal& terminal);

}  // namespace ctxfs
