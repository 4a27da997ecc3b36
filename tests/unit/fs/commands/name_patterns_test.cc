// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/name_patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace ctxfs {
namespace {

std::vector<NamePattern> Of(const std::vector<std::string>& names) {
  return PatternsOf({names.begin(), names.end()});
}

std::vector<std::string> Texts(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const NamePattern& one : Of(names)) texts.push_back(one.text);
  return texts;
}

using Texted = std::vector<std::string>;

/// The end of the braces that open at `at`.
size_t EndOf(const std::string& text, size_t at) {
  size_t depth = 0;
  for (;; ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at;
  }
}

/// The words of "a,{0..2},b" in braces.
std::vector<std::string> Words(const std::string& inside) {
  const size_t dots = inside.find("..");
  if (dots != std::string::npos && inside.find('{') == std::string::npos) {
    std::vector<std::string> words;
    const std::string first = inside.substr(0, dots);
    const size_t width = first.front() == '0' ? first.size() : 1;
    for (size_t i = std::stoul(first); i <= std::stoul(inside.substr(dots + 2));
         ++i) {
      std::string digits = std::to_string(i);
      digits.insert(0, width > digits.size() ? width - digits.size() : 0, '0');
      words.push_back(digits);
    }
    return words;
  }
  std::vector<std::string> words;
  for (size_t at = 0; at <= inside.size();) {
    if (at < inside.size() && inside[at] == '{') {
      const size_t end = EndOf(inside, at);
      for (auto& one : Words(inside.substr(at + 1, end - at - 1))) {
        words.push_back(std::move(one));
      }
      at = end + 2;
      continue;
    }
    const size_t end = std::min(inside.find(',', at), inside.size());
    words.push_back(inside.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// What a shell makes of a pattern.
std::vector<std::string> Expanded(const std::string& text) {
  const size_t open = text.find('{');
  if (open == std::string::npos) return {text};
  const size_t close = EndOf(text, open);
  const auto words = Words(text.substr(open + 1, close - open - 1));
  std::vector<std::string> all;
  for (const std::string& after : Expanded(text.substr(close + 1))) {
    for (const std::string& word : words) {
      all.push_back(text.substr(0, open) + word + after);
    }
  }
  return all;
}

/// Fails if the patterns do not expand to exactly the names they have.
void ExpectExact(const std::vector<std::string>& names) {
  std::set<size_t> seen;
  for (const NamePattern& one : Of(names)) {
    std::multiset<std::string> wanted;
    for (const size_t i : one.names) {
      EXPECT_TRUE(seen.insert(i).second);
      wanted.insert(names[i]);
    }
    if (one.names.size() == 1) {
      EXPECT_EQ(one.text, *wanted.begin());
      continue;
    }
    const auto words = Expanded(one.text);
    EXPECT_EQ(std::multiset<std::string>(words.begin(), words.end()), wanted)
        << one.text;
  }
  EXPECT_EQ(seen.size(), names.size());
}

TEST(NamePatternsTest, Item43_8_LayersAndModulesAreJoined) {
  EXPECT_EQ(Texts({"model.layers.2.self_attn.q_proj.weight",
                   "model.layers.2.self_attn.v_proj.weight",
                   "model.layers.3.self_attn.q_proj.weight",
                   "model.layers.3.self_attn.v_proj.weight"}),
            Texted{"model.layers.{2,3}.self_attn.{q,v}_proj.weight"});
}

TEST(NamePatternsTest, Item43_8_OnlyWholeProductsAreJoined) {
  const std::vector<std::string> names = {"l.0.q", "l.0.v", "l.1.q", "l.2.q"};
  EXPECT_EQ(Texts(names), (Texted{"l.{0..2}.q", "l.0.v"}));
  ExpectExact(names);
}

TEST(NamePatternsTest, Item43_8_NumbersAreOrderedByValueInRanges) {
  EXPECT_EQ(Texts({"h.10", "h.9", "h.11", "h.2", "h.100"}),
            Texted{"h.{2,{9..11},100}"});
  EXPECT_EQ(Texts({"f-00008", "f-00009", "f-00010"}),
            Texted{"f-{00008..00010}"});
  EXPECT_EQ(Texts({"f-8", "f-09", "f-10"}), Texted{"f-{8,09,10}"});
  ExpectExact({"f-8", "f-9", "f-10", "f-09", "f-010", "f-011", "f-012"});
}

TEST(NamePatternsTest, Item43_8_NamesThatBracesCannotSayStayAlone) {
  const std::vector<std::string> names = {
      "a.{1,2}", "a.{1,3}", "b,1",  "b,2",        "c\\1",       "c\\2", "d 1",
      "d 2",     "e\n1",    "e\n2", "\xc3\xa4.1", "\xc3\xa4.2", ""};
  EXPECT_EQ(Of(names).size(), names.size());
  ExpectExact(names);
}

TEST(NamePatternsTest, Item43_8_RandomSetsAreCoveredExactly) {
  std::mt19937 random(43);
  for (int round = 0; round < 200; ++round) {
    std::set<std::string> names;
    for (int i = 0; i < 60; ++i) {
      std::string name = "l";
      for (int part = 0; part < 3; ++part) {
        const auto n = random() % 8;
        name += ".";
        name += n < 4 ? std::to_string(random() % 12)
                      : std::string(1, static_cast<char>('a' + n));
      }
      names.insert(name + (random() % 2 == 0 ? "_w" : "1w"));
    }
    ExpectExact({names.begin(), names.end()});
  }
}

TEST(NamePatternsTest, Item43_8_TheOrderOfNamesDoesNotMatter) {
  std::vector<std::string> names;
  for (int layer = 0; layer < 20; ++layer) {
    for (const char* const module : {"q", "k", "v"}) {
      if (layer % 7 == 3 && *module == 'k') continue;
      names.push_back("l." + std::to_string(layer) + "." + module);
    }
  }
  const auto sorted = [](Texted texts) {
    std::ranges::sort(texts);
    return texts;
  };
  const Texted wanted = sorted(Texts(names));
  std::mt19937 random(8);
  for (int i = 0; i < 5; ++i) {
    std::ranges::shuffle(names, random);
    EXPECT_EQ(sorted(Texts(names)), wanted);
  }
}

TEST(NamePatternsTest, Item43_8_ManyNamesTakeLittleTime) {
  std::vector<std::string> names;
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    names.push_back("model.layers." + std::to_string(random() % 4000) +
                    ".experts." + std::to_string(random() % 4000) +
                    ".up_proj.weight" + std::to_string(i % 3));
  }
  names.push_back(std::string(60'000, '.'));
  std::string long_name;
  for (int i = 0; i < 20'000; ++i) long_name += "a.";
  for (int i = 0; i < 10; ++i) names.push_back(long_name + std::to_string(i));
  const auto start = std::chrono::steady_clock::now();
  std::set<size_t> seen;
  for (const NamePattern& one : Of(names)) {
    for (const size_t i : one.names) EXPECT_TRUE(seen.insert(i).second);
  }
  EXPECT_EQ(seen.size(), names.size());
  // A second or less; a minute shows only what is not in proportion.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
}

}  // namespace
}  // namespace ctxfs
