// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace ctxfs {

/// A pattern for one name of a path, as in a shell: `*` matches any characters,
/// `?` one, and `[...]` one of a set: `[abc]`, `[a-z]`, `[[:digit:]]`, and
/// `[!...]` or `[^...]` for any other. A backslash takes the next character
/// literally. A dot at the start of a name matches only a dot. Characters are
/// those of UTF-8; a byte that is not UTF-8 is one character.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  /// Whether `name` has characters of a pattern.
  static bool IsPattern(std::string_view name);

  /// Takes at most as many steps as the product of both lengths.
  bool Matches(std::string_view name) const;

 private:
  using Ranges = std::vector<std::pair<char32_t, char32_t>>;
  struct Item {
    bool any_number = false;  // `*`
    bool negated = false;
    Ranges ranges;  // of characters that match
  };

  /// Parses the set after a `[`, and removes it from `rest`. Returns false if
  /// it has no end.
  static bool TakeSet(std::string_view& rest, Item& set);
  static bool TakeClass(std::string_view& rest, Ranges& ranges);
  static bool Takes(const Item& item, char32_t character);

  std::vector<Item> items_;
};

}  // namespace ctxfs
