// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/name_patterns.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace ctxfs {
namespace {

// A name of more tokens is not joined with others, because joining takes time
// in proportion to the square of the number of tokens.
constexpr size_t kMaxTokens = 32;
constexpr size_t kMaxDigits = 18;  // of a number in a range
constexpr size_t kMinRange = 3;    // minimum numbers of a range

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsSeparator(char c) { return !IsDigit(c) && !IsLetter(c); }

bool MayHavePattern(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return c > ' ' && c <= '~' && c != '{' && c != '}' && c != ',' && c != '\\';
  });
}

/// The tokens of a name, which are its numbers and words. `form` is the name
/// with "0" in place of each number and "a" in place of each word.
struct Tokens {
  std::vector<std::string_view> all;
  std::string form;
};

Tokens Split(std::string_view name) {
  Tokens tokens;
  for (size_t at = 0; at < name.size() && tokens.all.size() <= kMaxTokens;) {
    const char c = name[at];
    if (IsSeparator(c)) {
      tokens.form += c;
      ++at;
      continue;
    }
    const size_t start = at;
    const bool number = IsDigit(c);
    while (at < name.size() &&
           (number ? IsDigit(name[at]) : IsLetter(name[at]))) {
      ++at;
    }
    tokens.form += number ? '0' : 'a';
    tokens.all.push_back(name.substr(start, at - start));
  }
  return tokens;
}

/// Orders numbers by value, then by the number of digits, and words by bytes.
bool TokenPrecedes(std::string_view a, std::string_view b) {
  if (!IsDigit(a.front()) || !IsDigit(b.front())) return a < b;
  const auto significant = [](std::string_view digits) {
    const size_t first = digits.find_first_not_of('0');
    return first == std::string_view::npos ? std::string_view()
                                           : digits.substr(first);
  };
  const std::string_view x = significant(a);
  const std::string_view y = significant(b);
  if (x.size() != y.size()) return x.size() < y.size();
  if (x != y) return x < y;
  return a.size() < b.size();
}

bool HasZerosBefore(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0';
}

/// Whether the shell's range from `first` on has `next` right after `last`.
bool Continues(std::string_view first, std::string_view last,
               std::string_view next) {
  if (next.size() > kMaxDigits) return false;
  const bool padded = HasZerosBefore(first);
  if (padded ? next.size() != first.size() : HasZerosBefore(next)) return false;
  const auto value = [](std::string_view digits) {
    return std::strtoull(std::string(digits).c_str(), nullptr, 10);
  };
  return value(next) == value(last) + 1;
}

/// Returns a pattern for the tokens at one position: "q", "{k,q}", "{0..31}" or
/// "{{0..3},7}".
std::string Braced(const std::vector<std::string_view>& tokens) {
  if (tokens.size() == 1) return std::string(tokens.front());
  std::string text;
  for (size_t i = 0; i < tokens.size();) {
    size_t end = i + 1;
    while (IsDigit(tokens[i].front()) && end < tokens.size() &&
           Continues(tokens[i], tokens[end - 1], tokens[end])) {
      ++end;
    }
    const bool range = end - i >= kMinRange;
    if (!range) end = i + 1;
    const std::string part = range ? "{" + std::string(tokens[i]) + ".." +
                                         std::string(tokens[end - 1]) + "}"
                                   : std::string(tokens[i]);
    if (range && end - i == tokens.size()) return part;
    text += (i == 0 ? "{" : ",") + part;
    i = end;
  }
  return text + "}";
}

/// Names of one form: the tokens at each position, all combinations of which
/// are names.
struct Product {
  std::vector<std::vector<std::string_view>> positions;
  std::vector<size_t> names;
};

/// The tokens of all positions but `without`, as a key.
std::string KeyWithout(const Product& product, size_t without) {
  std::string key;
  key.reserve(128);
  for (size_t i = 0; i < product.positions.size(); ++i) {
    if (i == without) continue;
    for (const std::string_view token : product.positions[i]) {
      key += token;
      key += ',';
    }
    key += ';';
  }
  return key;
}

/// Whether some products have other tokens at `position` than the first
/// product.
bool Differ(const std::vector<Product>& products, size_t position) {
  return std::ranges::any_of(products, [&](const Product& one) {
    return one.positions[position] != products.front().positions[position];
  });
}

/// Joins the products that differ at `position` alone.
void JoinAt(size_t position, std::vector<Product>& products) {
  std::unordered_map<std::string, size_t> known;
  size_t kept = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const auto [at, added] =
        known.try_emplace(KeyWithout(products[i], position), kept);
    if (added) {
      if (kept != i) products[kept] = std::move(products[i]);
      ++kept;
      continue;
    }
    Product& into = products[at->second];
    auto& tokens = into.positions[position];
    const auto& more = products[i].positions[position];
    tokens.insert(tokens.end(), more.begin(), more.end());
    into.names.insert(into.names.end(), products[i].names.begin(),
                      products[i].names.end());
  }
  products.resize(kept);
  for (Product& one : products) {
    auto& tokens = one.positions[position];
    std::ranges::sort(tokens, &TokenPrecedes);
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  }
}

void Join(std::string_view form, std::vector<Product>& products) {
  for (const char kind : {'0', 'a'}) {
    size_t position = 0;
    for (const char c : form) {
      if (IsSeparator(c)) continue;
      if (c == kind && Differ(products, position)) JoinAt(position, products);
      ++position;
    }
  }
}

NamePattern PatternOf(std::string_view form, Product product) {
  NamePattern pattern;
  auto position = product.positions.begin();
  for (const char c : form) {
    if (IsSeparator(c)) {
      pattern.text += c;
    } else {
      pattern.text += Braced(*position++);
    }
  }
  pattern.names = std::move(product.names);
  std::ranges::sort(pattern.names);
  return pattern;
}

}  // namespace

std::vector<NamePattern> PatternsOf(
    const std::vector<std::string_view>& names) {
  std::vector<NamePattern> patterns;
  std::map<std::string, std::vector<Product>> by_form;
  for (size_t i = 0; i < names.size(); ++i) {
    if (MayHavePattern(names[i])) {
      Tokens tokens = Split(names[i]);
      if (tokens.all.size() <= kMaxTokens) {
        Product product{{}, {i}};
        for (const std::string_view one : tokens.all) {
          product.positions.push_back({one});
        }
        by_form[std::move(tokens.form)].push_back(std::move(product));
        continue;
      }
    }
    patterns.push_back({std::string(names[i]), {i}});
  }
  for (auto& [form, products] : by_form) {
    Join(form, products);
    for (Product& one : products) {
      patterns.push_back(PatternOf(form, std::move(one)));
    }
  }
  std::ranges::sort(patterns, {},
                    [](const NamePattern& one) { return one.names.front(); });
  return patterns;
}

}  // namespace ctxfs
