// SPDX-License-Identifier: Apache-2.0
#include "fs/common/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ctxfs {
namespace {

constexpr size_t kDefaultWidth = 80;
constexpr size_t kGap = 2;  // spaces between columns

/// Indexed by Colour.
constexpr const char* kSequences[] = {"",         "\x1b[1m",  "\x1b[31m",
                                      "\x1b[32m", "\x1b[33m", "\x1b[34m"};

bool WantsColours() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') &&
         !(term != nullptr && std::strcmp(term, "dumb") == 0);
}

std::string Padded(const std::string& cell, size_t width, bool right) {
  const size_t used = DisplayWidth(cell);
  const std::string space(width > used ? width - used : 0, ' ');
  return right ? space + cell : cell + space;
}

}  // namespace

Terminal Terminal::Of(std::FILE* stream) {
  const int fd = ::fileno(stream);
  if (::isatty(fd) != 1) return {false, false, kDefaultWidth};
  winsize size{};
  const bool known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {true, WantsColours(), known ? size.ws_col : kDefaultWidth};
}

std::string Terminal::Paint(Colour colour, std::string_view text) const {
  if (!colours_ || colour == Colour::kNone) return std::string(text);
  return kSequences[static_cast<size_t>(colour)] + std::string(text) +
         "\x1b[0m";
}

size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string TextTable::Aligned(const Terminal& terminal,
                               std::string_view indent) const {
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool right =
          std::find(numbers_.begin(), numbers_.end(), i) != numbers_.end();
      line += std::string(i == 0 ? 0 : kGap, ' ') +
              Padded(row[i], widths[i], right);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += std::string(indent) +
            terminal.Paint(&row == rows_.data() ? Colour::kBold : Colour::kNone,
                           line) +
            "\n";
  }
  return text;
}

std::string TextTable::Separated() const {
  std::string text;
  for (size_t row = 1; row < rows_.size(); ++row) {
    for (size_t i = 0; i < rows_[row].size(); ++i) {
      text += (i == 0 ? "" : "\t") + rows_[row][i];
    }
    text += "\n";
  }
  return text;
}

std::string InColumns(const std::vector<std::string>& names, size_t width,
                      const Terminal& terminal) {
  size_t widest = 0;
  for (const std::string& name : names) {
    widest = std::max(widest, DisplayWidth(name));
  }
  const size_t columns =
      std::clamp<size_t>((width + kGap) / (widest + kGap), 1, 1 + names.size());
  const size_t rows = (names.size() + columns - 1) / columns;
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    size_t owed = 0;  // spaces before the next name
    for (size_t i = row; i < names.size(); i += rows) {
      const std::string& name = names[i];
      const bool directory = name.ends_with('/');
      text += std::string(owed, ' ') +
              terminal.Paint(directory ? Colour::kBlue : Colour::kNone, name);
      owed = widest + kGap - DisplayWidth(name);
    }
    text += "\n";
  }
  return text;
}

}  // namespace ctxfs
