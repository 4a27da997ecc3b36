// SPDX-License-Identifier: Apache-2.0
#include "core/tree/safe_name.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cinttypes>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/text.h"

namespace ctxfs {
namespace {

using Strings = std::vector<std::string>;

std::string Str(std::string_view text) { return std::string(text); }
constexpr std::string_view operator""_b(const char* text, size_t size) {
  return {text, size};
}

std::string HashOf(std::string_view text) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016" PRIx64,
                uint64_t{XXH64(text.data(), text.size(), 0)});
  return digits;
}

Strings Split(std::string_view name) {
  SafePath path;
  const auto components = path.Split(name);
  return {components.begin(), components.end()};
}

std::string Joined(const Strings& components) {
  std::string path;
  for (const std::string& component : components) path += component + "/";
  return path;
}

std::string Repeat(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

void ExpectSafe(const std::string& component, std::string_view of) {
  EXPECT_FALSE(component.empty()) << Quote(of);
  EXPECT_LE(component.size(), 255U) << Quote(of);
  EXPECT_NE(component, ".") << Quote(of);
  EXPECT_NE(component, "..") << Quote(of);
  EXPECT_EQ(component.find_first_of("\0/"_b), std::string::npos) << Quote(of);
}

TEST(SafeComponent, EncodesOnlyWhatMustBe) {
  struct Case {
    std::string_view component, safe;
  };
  constexpr Case kCases[] = {
      {"layer0.weight", "layer0.weight"},
      {"a b\t\n\x01\x7f", "a b\t\n\x01\x7f"},
      {"\xff\xfe", "\xff\xfe"},
      {"\xE6\x97\xA5", "\xE6\x97\xA5"},
      {"\\:*?\"<>|", "\\:*?\"<>|"},
      {"...", "..."},
      {".hidden", ".hidden"},
      {"", "%"},
      {".", "%2E"},
      {"..", "%2E%2E"},
      {"\0"_b, "%00"},
      {"a\0b\0"_b, "a%00b%00"},
      {"a/b", "a%2Fb"},
      // A '%' stays unless the whole would read as an encoded one.
      {"100%", "100%"},
      {"%%", "%%"},
      {"%d", "%d"},
      {"%2e", "%2e"},
      {"%2E.", "%2E."},
      {"%2", "%2"},
      {"a%2Eb", "a%2Eb"},
      {"%", "%25"},
      {"%2E", "%252E"},
      {"%2E%2E", "%252E%252E"},
      {"%00", "%2500"},
      {"%25", "%2525"},
      {"a%2Fb", "a%252Fb"},
      {"%~0123456789abcdef", "%25~0123456789abcdef"},
      {"x%~0123456789abcdef", "x%25~0123456789abcdef"},
      {"x%~0123456789abcdeF", "x%~0123456789abcdeF"},
      {"x%~0123456789abcde", "x%~0123456789abcde"},
      {"x%~0123456789abcdef.", "x%~0123456789abcdef."},
      {"50%\0"_b, "50%25%00"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(SafeComponent(c.component), c.safe) << Quote(c.component);
  }
}

TEST(SafeComponent, CutsLongOnesAndAddsTheirHash) {
  const std::string fits(255, 'a');
  EXPECT_EQ(SafeComponent(fits), fits);
  for (const size_t size : {256U, 1000U, 65535U}) {
    const std::string name(size, 'a');
    EXPECT_EQ(SafeComponent(name), std::string(230, 'a') + "%~" + HashOf(name));
  }
  // A '%' in one that is long and nothing else stays.
  const std::string percent = "%" + std::string(300, 'a');
  EXPECT_EQ(SafeComponent(percent),
            percent.substr(0, 230) + "%~" + HashOf(percent));
  // Long only once it is encoded; the hash is of the name itself.
  const std::string nuls(100, '\0');
  EXPECT_EQ(SafeComponent(nuls),
            Repeat("%00", 77).substr(0, 230) + "%~" + HashOf(nuls));
  const std::string grows = std::string(253, 'a') + "\0"_b.data();
  EXPECT_EQ(SafeComponent(grows), grows);
  EXPECT_EQ(SafeComponent(Str("\0"_b) + std::string(252, 'a')),
            "%00" + std::string(252, 'a'));
  const std::string too_long = Str("\0"_b) + std::string(253, 'a');
  EXPECT_EQ(SafeComponent(too_long),
            "%00" + std::string(227, 'a') + "%~" + HashOf(too_long));
}

TEST(SafeComponent, CutsOnACharacterBoundary) {
  for (const std::string_view character :
       {"\xC3\xA9"_b, "\xE6\x97\xA5"_b, "\xF0\x9F\x98\x80"_b}) {
    for (size_t lead = 0; lead < 8; ++lead) {
      const std::string name =
          std::string(lead, 'a') + Repeat(character, 100) + "tail";
      if (name.size() <= 255) continue;
      const std::string safe = SafeComponent(name);
      const size_t whole = (230 - lead) / character.size();
      EXPECT_EQ(safe, name.substr(0, lead + whole * character.size()) + "%~" +
                          HashOf(name));
      EXPECT_TRUE(IsUtf8(safe));
    }
  }
  // Bytes that only ever continue are no characters: any place will do.
  const std::string stray(300, '\x80');
  EXPECT_EQ(SafeComponent(stray), stray.substr(0, 230) + "%~" + HashOf(stray));
}

TEST(SafePath, SplitsAtEverySlash) {
  struct Case {
    std::string_view name;
    Strings components;
  };
  const Case cases[] = {
      {"", {"%"}},
      {"a", {"a"}},
      {"a/b/c", {"a", "b", "c"}},
      {"/", {"%", "%"}},
      {"/absolute", {"%", "absolute"}},
      {"trailing/", {"trailing", "%"}},
      {"a//b", {"a", "%", "b"}},
      {"../escape", {"%2E%2E", "escape"}},
      {"a/../b/.", {"a", "%2E%2E", "b", "%2E"}},
      {"a/%/b", {"a", "%25", "b"}},
      {"x\0/y"_b, {"x%00", "y"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Split(c.name), c.components) << c.name;
}

TEST(SafePath, PutsAllBelowTheLastComponentIntoOne) {
  const std::string many = Repeat("d/", 255);
  const Strings most = Split(many + "last");
  ASSERT_EQ(most.size(), 256U);
  EXPECT_EQ(most.back(), "last");
  const Strings more = Split(many + "x/y");
  ASSERT_EQ(more.size(), 256U);
  EXPECT_EQ(more[254], "d");
  EXPECT_EQ(more.back(), "x%2Fy");
  EXPECT_EQ(Split(many + "x%2Fy").back(), "x%252Fy");
  EXPECT_EQ(Split(many + "/").back(), "%2F");
  EXPECT_EQ(Split(many + "..").back(), "%2E%2E");
  const std::string rest = Repeat("y/", 200);
  EXPECT_EQ(Split(many + rest).back(),
            Repeat("y%2F", 58).substr(0, 230) + "%~" + HashOf(rest));
  EXPECT_EQ(Split(Repeat("/", 65535)).size(), 256U);
}

TEST(SafePath, IsUsedAgainAndAgain) {
  SafePath path;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(path.Split("a/../b").size(), 3U);
    EXPECT_EQ(path.Split("")[0], "%");
    EXPECT_EQ(path.Split("plain")[0], "plain");
  }
}

/// All strings of up to `size` of the letters that mean something.
void AllStrings(size_t size, std::string& text, Strings& all) {
  all.push_back(text);
  if (size == 0) return;
  for (const char c : "%.025EF~/a"_b) {
    text.push_back(c);
    AllStrings(size - 1, text, all);
    text.pop_back();
  }
  text.push_back('\0');
  AllStrings(size - 1, text, all);
  text.pop_back();
}

Strings NastyNames() {
  Strings all;
  std::string text;
  AllStrings(5, text, all);
  for (const std::string& unit :
       {Str("a"), Str("%"), Str("%2"), Str("%25"), Str("%00"), Str("\0"_b),
        Str("/"), Str("."), Str("\xC3\xA9"), Str("\x80"), Str("%~")}) {
    for (const size_t size : {60U, 76U, 77U, 85U, 100U, 115U, 229U, 230U, 231U,
                              248U, 254U, 255U, 256U, 257U, 300U, 1000U}) {
      const std::string name = Repeat(unit, size);
      for (const std::string_view tail :
           {""_b, "x"_b, "/"_b, "/x"_b, "%2Fx"_b, "%"_b, "\0"_b, "%00"_b}) {
        all.push_back(name + Str(tail));
      }
    }
  }
  // What encodes to X, X itself, and what X encodes to.
  const Strings once = {Str("/"),
                        Str(""),
                        Str(".."),
                        Str("\0"_b),
                        std::string(300, 'a'),
                        std::string(300, '%'),
                        std::string(255, 'a') + "%00"};
  for (std::string name : once) {
    for (int round = 0; round < 4; ++round) {
      all.push_back(name + "~");
      name = SafeComponent(name);
      if (round > 0 || name.size() > 6) all.push_back(name);
    }
  }
  return {all.begin(), all.end()};
}

TEST(SafePath, GivesDifferentNamesDifferentSafePaths) {
  std::set<std::string> names;
  std::set<std::string> paths;
  std::set<std::string> components;
  for (const std::string& name : NastyNames()) {
    if (!names.insert(name).second) continue;
    const Strings split = Split(name);
    for (const std::string& component : split) ExpectSafe(component, name);
    ASSERT_TRUE(paths.insert(Joined(split)).second) << Quote(name);
    const std::string component = SafeComponent(name);
    ExpectSafe(component, name);
    ASSERT_TRUE(components.insert(component).second) << Quote(name);
  }
  EXPECT_GT(names.size(), 100'000U);
}

TEST(MarkedComponent, MarksBeforeTheExtensionOrAtTheEnd) {
  struct Case {
    std::string component;
    bool before_extension;
    std::string marked;
  };
  const std::string long_extension = "." + std::string(229, 'e');
  const Case cases[] = {
      {"a.txt", true, "a~2.txt"},
      {"a.txt", false, "a.txt~2"},
      {"a", true, "a~2"},
      {"a.tar.gz", true, "a.tar~2.gz"},
      {".hidden", true, ".hidden~2"},
      {".hidden.txt", true, ".hidden~2.txt"},
      {"a.", true, "a~2."},
      {"%2E%2E", true, "%2E%2E~2"},
      {std::string(239, 'a'), true, std::string(239, 'a') + "~2"},
      // What is cut has room for any mark, so that it is cut alike for all.
      {std::string(240, 'a'), true, std::string(239, 'a') + "~2"},
      {std::string(255, 'a'), true, std::string(239, 'a') + "~2"},
      {std::string(255, 'a'), false, std::string(239, 'a') + "~2"},
      {std::string(251, 'a') + ".txt", true, std::string(235, 'a') + "~2.txt"},
      {std::string(25, 'a') + long_extension, true,
       std::string(9, 'a') + "~2" + long_extension},
      // A tail this long is no extension.
      {std::string(24, 'a') + long_extension + "e", true,
       std::string(24, 'a') + long_extension.substr(0, 215) + "~2"},
      {Repeat("\xC3\xA9", 127) + "x", true, Repeat("\xC3\xA9", 119) + "~2"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(MarkedComponent(c.component, "~2", c.before_extension), c.marked)
        << c.component;
  }
  // The longest mark that there can be still leaves a stem.
  const std::string marked = MarkedComponent(
      std::string(25, 'a') + long_extension, "~file~4294967295", true);
  EXPECT_EQ(marked, "aaaaaaaaa~file~4294967295" + long_extension);
  EXPECT_EQ(marked.size(), 255U);
}

}  // namespace
}  // namespace ctxfs
