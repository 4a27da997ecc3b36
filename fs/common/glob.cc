// SPDX-License-Identifier: Apache-2.0
#include "fs/common/glob.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ctxfs {
namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;
/// Added to a byte that is not UTF-8, so that it differs from all characters.
constexpr char32_t kBrokenByte = kLastCharacter + 1;

constexpr struct {
  std::string_view name;
  std::string_view ranges;  // pairs of characters
} kClasses[] = {
    {"alnum", "09AZaz"}, {"alpha", "AZaz"}, {"blank", "\t\t  "},
    {"digit", "09"},     {"lower", "az"},   {"punct", "!/:@[`{~"},
    {"space", "\t\r  "}, {"upper", "AZ"},   {"xdigit", "09AFaf"},
};

/// The number of bytes of a character in UTF-8 by its first byte; 0 if none
/// begins with it.
size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/// Removes the first character of `text`, which is not empty.
char32_t TakeCharacter(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t length = LengthOf(first);
  char32_t character = length == 1 ? first : first & (0x7FU >> length);
  bool whole = length != 0 && length <= text.size();
  for (size_t i = 1; whole && i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    whole = (next & 0xC0U) == 0x80;
    character = character << 6U | (next & 0x3FU);
  }
  text.remove_prefix(whole ? length : 1);
  return whole ? character : kBrokenByte + first;
}

/// Removes and returns a character, without the backslash before it.
char32_t TakeEscaped(std::string_view& text) {
  if (text.size() > 1 && text.front() == '\\') text.remove_prefix(1);
  return TakeCharacter(text);
}

}  // namespace

Glob::Glob(std::string_view pattern) {
  while (!pattern.empty()) {
    Item item;
    const std::string_view rest = pattern;
    const char first = pattern.front();
    pattern.remove_prefix(1);
    if (first == '*') {
      item.any_number = true;
    } else if (first == '?') {
      item.negated = true;  // any character that is not in {}
    } else if (first != '[' || !TakeSet(pattern, item)) {
      pattern = rest;
      const char32_t character = TakeEscaped(pattern);
      item = {.ranges = {{character, character}}};
    }
    items_.push_back(std::move(item));
  }
}

bool Glob::IsPattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

bool Glob::TakeClass(std::string_view& rest, Ranges& ranges) {
  if (!rest.starts_with("[:")) return false;
  const size_t end = rest.find(":]");
  if (end == std::string_view::npos) return false;
  const std::string_view name = rest.substr(2, end - 2);
  for (const auto& one : kClasses) {
    if (one.name != name) continue;
    for (size_t i = 0; i < one.ranges.size(); i += 2) {
      ranges.emplace_back(one.ranges[i], one.ranges[i + 1]);
    }
    rest.remove_prefix(end + 2);
    return true;
  }
  return false;
}

bool Glob::TakeSet(std::string_view& rest, Item& set) {
  std::string_view text = rest;
  set.negated = text.starts_with('!') || text.starts_with('^');
  if (set.negated) text.remove_prefix(1);
  // A bracket at the start does not end the set.
  for (bool start = true; !text.empty(); start = false) {
    if (text.front() == ']' && !start) {
      rest = text.substr(1);
      return true;
    }
    if (TakeClass(text, set.ranges)) continue;
    const char32_t first = TakeEscaped(text);
    char32_t last = first;
    if (text.size() > 1 && text.front() == '-' && text[1] != ']') {
      text.remove_prefix(1);
      last = TakeEscaped(text);
    }
    set.ranges.emplace_back(first, last);
  }
  return false;
}

bool Glob::Takes(const Item& item, char32_t character) {
  const bool in = std::ranges::any_of(item.ranges, [&](const auto& range) {
    return range.first <= character && character <= range.second;
  });
  return in != item.negated;
}

bool Glob::Matches(std::string_view name) const {
  const Ranges dot = {{U'.', U'.'}};
  if (name.starts_with('.') &&
      (items_.empty() || items_[0].negated || items_[0].ranges != dot)) {
    return false;
  }
  size_t at = 0;  // in items_
  // The last `*`, and the rest of the name after the characters that it has
  // taken. An earlier `*` never has to take more.
  std::optional<size_t> star;
  std::string_view after_star;
  while (!name.empty()) {
    if (at < items_.size() && items_[at].any_number) {
      star = at++;
      after_star = name;
      continue;
    }
    std::string_view rest = name;
    if (at < items_.size() && Takes(items_[at], TakeCharacter(rest))) {
      ++at;
      name = rest;
    } else if (star) {
      TakeCharacter(after_star);
      name = after_star;
      at = *star + 1;
    } else {
      return false;
    }
  }
  return std::all_of(items_.begin() + static_cast<ptrdiff_t>(at), items_.end(),
                     [](const Item& item) { return item.any_number; });
}

}  // namespace ctxfs
