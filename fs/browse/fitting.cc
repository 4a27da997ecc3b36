// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/fitting.h"

#include <algorithm>
#include <cwchar>
#include <utility>

namespace ctxfs {
namespace {

struct Character {
  size_t bytes = 0;  // 0: the end, or not a character of the locale
  int columns = 0;
};

Character FirstOf(std::string_view text) {
  std::mbstate_t state{};
  wchar_t c = 0;
  const size_t bytes = std::mbrtowc(&c, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {};
  return {bytes, std::max(::wcwidth(c), 0)};
}

/// Removes characters from the front of `text` that together take at least
/// `columns`.
std::string_view Behind(std::string_view text, int columns) {
  while (columns > 0) {
    const Character first = FirstOf(text);
    if (first.bytes == 0) break;
    text.remove_prefix(first.bytes);
    columns -= first.columns;
  }
  return text;
}

}  // namespace

std::pair<std::string, int> Fit(std::string_view text, int columns) {
  std::string_view rest = text;
  int width = 0;
  for (;;) {
    const Character first = FirstOf(rest);
    if (first.bytes == 0 || width + first.columns > columns) break;
    width += first.columns;
    rest.remove_prefix(first.bytes);
  }
  return {std::string(text.substr(0, text.size() - rest.size())), width};
}

std::string FitByMiddle(std::string_view text, int columns, bool utf8) {
  const int all = Fit(text, static_cast<int>(text.size())).second;
  if (all <= columns) return std::string(text);
  const std::string mark = utf8 ? "\xE2\x80\xA6" : "..";
  const int mark_width = utf8 ? 1 : 2;
  if (columns <= mark_width) return Fit(text, std::max(columns, 0)).first;
  const int right = (columns - mark_width) / 2;
  const int left = columns - mark_width - right;
  return Fit(text, left).first + mark + std::string(Behind(text, all - right));
}

std::vector<std::string> Wrapped(std::string_view text, int columns) {
  std::vector<std::string> lines;
  do {
    std::string line = Fit(text, columns).first;
    text.remove_prefix(line.size());
    lines.push_back(std::move(line));
  } while (!text.empty() && !lines.back().empty());
  return lines;
}

}  // namespace ctxfs
