// SPDX-License-Identifier: Apache-2.0
#include "fs/common/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace ctxfs {
namespace {

bool Match(std::string_view pattern, std::string_view name) {
  return Glob(pattern).Matches(name);
}

TEST(Glob, Item43_7_MatchesAsAShellDoes) {
  EXPECT_TRUE(Match("*q_proj*", "layers.0.q_proj.weight"));
  EXPECT_TRUE(Match("*", "name"));
  EXPECT_TRUE(Match("a*", "a"));
  EXPECT_TRUE(Match("*.?", "vec.f"));
  EXPECT_TRUE(Match("a**b", "ab"));
  EXPECT_FALSE(Match("?", ""));
  EXPECT_FALSE(Match("a?", "a"));
  EXPECT_FALSE(Match("*.f32", "vec.f32x"));
  EXPECT_FALSE(Match("", "a"));
}

TEST(Glob, Item43_7_HasSets) {
  EXPECT_TRUE(Match("[a-c]1", "b1"));
  EXPECT_FALSE(Match("[!a-c]1", "b1"));
  EXPECT_TRUE(Match("[^a-c]1", "d1"));
  EXPECT_TRUE(Match("[]a]", "]"));
  EXPECT_TRUE(Match("[a-]", "-"));
  EXPECT_TRUE(Match("x[[:digit:]_]", "x7"));
  EXPECT_TRUE(Match("x[[:digit:]_]", "x_"));
  EXPECT_FALSE(Match("x[[:digit:]]", "xa"));
  EXPECT_TRUE(Match("[\\]]", "]"));
}

TEST(Glob, Item43_7_TakesASetWithoutEndLiterally) {
  EXPECT_TRUE(Match("[abc", "[abc"));
  EXPECT_FALSE(Match("[abc", "a"));
}

TEST(Glob, Item43_7_TakesAnEscapedCharacterLiterally) {
  EXPECT_TRUE(Match("\\*", "*"));
  EXPECT_FALSE(Match("\\*", "a"));
  EXPECT_TRUE(Match("a\\", "a\\"));
}

TEST(Glob, Item43_7_MatchesADotAtTheStartOnlyWithADot) {
  EXPECT_FALSE(Match("*", ".hidden"));
  EXPECT_FALSE(Match("?hidden", ".hidden"));
  EXPECT_FALSE(Match("[!a]hidden", ".hidden"));
  EXPECT_TRUE(Match(".*", ".hidden"));
  EXPECT_TRUE(Match("*", "a.b"));
}

TEST(Glob, Item43_7_MatchesCharactersNotBytes) {
  EXPECT_TRUE(Match("?", "\xC3\xA9"));
  EXPECT_TRUE(Match("[\xC3\xA0-\xC3\xBF]", "\xC3\xA9"));
  EXPECT_FALSE(Match("??", "\xC3\xA9"));
  EXPECT_TRUE(Match("??", "\xFF\xC3"));  // not UTF-8
  EXPECT_FALSE(Match("\xC3\xBF", "\xFF"));
}

TEST(Glob, Item43_7_TakesNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_FALSE(Match(pattern + "b", std::string(5000, 'a')));
}

TEST(Glob, Item43_7_IsAPatternOnlyWithItsCharacters) {
  EXPECT_TRUE(Glob::IsPattern("a*"));
  EXPECT_TRUE(Glob::IsPattern("a?"));
  EXPECT_TRUE(Glob::IsPattern("a[1]"));
  EXPECT_FALSE(Glob::IsPattern("model.layers.0~dir"));
}

}  // namespace
}  // namespace ctxfs
