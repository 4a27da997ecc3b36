// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

enum class Colour { kNone, kBold, kRed, kGreen, kYellow, kBlue };

/// How text is printed to a stream: with colours and columns if it is a
/// terminal, as plain lines if it is a pipe or a file.
class Terminal {
 public:
  /// `stream` is standard output or standard error. There are no colours if
  /// NO_COLOR is set and not empty (https://no-color.org) or TERM is "dumb".
  static Terminal Of(std::FILE* stream);

  Terminal(bool terminal, bool colours, size_t width)
      : terminal_(terminal), colours_(colours), width_(width) {}

  bool is_terminal() const { return terminal_; }
  /// Columns of a line: 80 if the terminal does not say.
  size_t width() const { return width_; }

  /// `text` between the escape sequences of `colour`, or as it is without
  /// colours.
  std::string Paint(Colour colour, std::string_view text) const;

 private:
  bool terminal_;
  bool colours_;
  size_t width_;
};

/// Columns that `text` takes: its code points, if it is UTF-8.
size_t DisplayWidth(std::string_view text);

/// Rows of cells in aligned columns.
class TextTable {
 public:
  /// `numbers` are the columns aligned to the right, counted from 0.
  TextTable(std::vector<std::string> header, std::vector<size_t> numbers)
      : rows_{std::move(header)}, numbers_(std::move(numbers)) {}

  /// `row` has as many cells as the header.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  /// The header in bold, and the rows, each with `indent` before it and two
  /// spaces between columns.
  std::string Aligned(const Terminal& terminal, std::string_view indent) const;
  /// The rows without the header, tabs between cells. For scripts.
  std::string Separated() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> numbers_;
};

/// `names` in as many columns as fit into `width`, ordered downwards as ls(1)
/// does, directories (which end with a slash) in blue. Lines end with newlines.
std::string InColumns(const std::vector<std::string>& names, size_t width,
                      const Terminal& terminal);

}  // namespace ctxfs
