// SPDX-License-Identifier: Apache-2.0
#include "fs/common/nearest_word.h"

#include <gtest/gtest.h>

namespace ctxfs {
namespace {

const std::vector<std::string_view> kWords = {
    "mount", "umount", "mounts", "ls", "cat", "info", "check", "extract"};

TEST(NearestWord, FindsWhatWasMeant) {
  EXPECT_EQ(NearestWord("chekc", kWords), "check");  // swapped
  EXPECT_EQ(NearestWord("chck", kWords), "check");   // dropped
  EXPECT_EQ(NearestWord("innfo", kWords), "info");   // added
  EXPECT_EQ(NearestWord("infp", kWords), "info");    // replaced
  EXPECT_EQ(NearestWord("ext", kWords), "extract");  // begun
  EXPECT_EQ(NearestWord("moutn", kWords), "mount");
}

TEST(NearestWord, PrefersTheNearest) {
  EXPECT_EQ(NearestWord("mountt", kWords), "mount");
  EXPECT_EQ(NearestWord("umountt", kWords), "umount");
}

TEST(NearestWord, FindsNothingThatIsNotNear) {
  EXPECT_EQ(NearestWord("", kWords), "");
  EXPECT_EQ(NearestWord("q", kWords), "");
  EXPECT_EQ(NearestWord("frobnicate", kWords), "");
  EXPECT_EQ(NearestWord(std::string(1000, 'm'), kWords), "");
  EXPECT_EQ(NearestWord("mount", {}), "");
}

TEST(DidYouMean, IsASuffixOfAMessage) {
  EXPECT_EQ(DidYouMean("josn", {"json"}, "--"), " (did you mean '--json'?)");
  EXPECT_EQ(DidYouMean("zzz", {"json"}, "--"), "");
}

}  // namespace
}  // namespace ctxfs
