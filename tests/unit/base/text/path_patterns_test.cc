// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/path_patterns.h"

#include <gtest/gtest.h>

#include <string>

namespace ctxfs {
namespace {

bool Matches(const char* patterns, const std::string& path) {
  const std::optional<PathPatterns> parsed = PathPatterns::Parse(patterns);
  EXPECT_TRUE(parsed) << patterns;
  return parsed && parsed->Match(path);
}

TEST(PathPatterns, MatchAPathAndWhatIsBelow) {
  for (const char* path : {"views/npy", "views/npy/x.npy", "views/npy/a/b"}) {
    EXPECT_TRUE(Matches("views/npy", path)) << path;
  }
  for (const char* path : {"views", "views/npy2", "views/np", "npy", "",
                           "other/views/npy", "views/npy.txt"}) {
    EXPECT_FALSE(Matches("views/npy", path)) << path;
  }
}

TEST(PathPatterns, MatchNamesByWildcards) {
  EXPECT_TRUE(Matches("signal/*", "signal/rgb"));
  EXPECT_TRUE(Matches("signal/*", "signal/rgb/frame"));
  EXPECT_FALSE(Matches("signal/*", "signal"));
  EXPECT_TRUE(Matches("*/npy", "views/npy/x"));
  EXPECT_FALSE(Matches("*/npy", "a/views/npy/x")) << "of one name";
  EXPECT_TRUE(Matches("layers.?.w*", "layers.3.weight"));
  EXPECT_FALSE(Matches("layers.?.w*", "layers.10.weight"));
  EXPECT_TRUE(Matches("*", ".hidden"));
  EXPECT_TRUE(Matches("[ab]", "a"));
  EXPECT_TRUE(Matches("a\\b", "a\\b")) << "a backslash is one";
  EXPECT_TRUE(Matches("views/*/*.npy", "views/npy/\xff.npy"));
}

TEST(PathPatterns, MatchWhatOneOfThemDoes) {
  EXPECT_TRUE(Matches("a:b/c", "a/x"));
  EXPECT_TRUE(Matches("a:b/c", "b/c"));
  EXPECT_FALSE(Matches("a:b/c", "b"));
}

TEST(PathPatterns, AreRelativePaths) {
  for (const char* text :
       {"", "/", "/views", "views/", "views//npy", ".", "./views", "..",
        "views/..", "a/../b", "a:", ":a", "a::b", "a:/b"}) {
    EXPECT_FALSE(PathPatterns::Parse(text)) << text;
  }
  for (const char* text : {"a", "...", "a/.b", "..a", "a b", "*"}) {
    EXPECT_TRUE(PathPatterns::Parse(text)) << text;
  }
  EXPECT_TRUE(PathPatterns().empty());
  EXPECT_FALSE(PathPatterns().Match("a"));
}

}  // namespace
}  // namespace ctxfs
