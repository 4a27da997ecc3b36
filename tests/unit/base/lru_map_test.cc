// SPDX-License-Identifier: Apache-2.0
#include "core/base/lru_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace ctxfs {
namespace {

using Map = LruMap<int, std::string>;

Map Three() {
  Map map;
  map.Put(1, "one");
  map.Put(2, "two");
  map.Put(3, "three");
  return map;
}

TEST(LruMapTest, RemovesFirstWhatWasNotUsedForLongest) {
  Map map = Three();
  EXPECT_EQ(*map.Use(1), "one");
  EXPECT_EQ(*map.Peek(2), "two") << "which is no use";
  EXPECT_EQ(map.RemoveOldest().front().first, 2);
  EXPECT_EQ(map.RemoveOldest().front().first, 3);
  EXPECT_EQ(map.RemoveOldest().front().first, 1);
  EXPECT_TRUE(map.RemoveOldest().empty());
  EXPECT_EQ(map.Use(1), nullptr);
}

TEST(LruMapTest, PassesOverWhatMayNotGo) {
  Map map = Three();
  const auto may_go = [](const std::string& value) { return value == "two"; };
  EXPECT_EQ(map.RemoveOldest(may_go).front().second, "two");
  EXPECT_TRUE(map.RemoveOldest(may_go).empty());
  EXPECT_EQ(map.size(), 2U);
}

TEST(LruMapTest, HandsBackWhatLeavesIt) {
  LruMap<int, std::shared_ptr<int>> map;
  const auto value = std::make_shared<int>(0);
  EXPECT_TRUE(map.Put(1, value).empty());
  {
    const auto replaced = map.Put(1, nullptr);
    EXPECT_EQ(replaced.front().second, value);
    EXPECT_EQ(map.size(), 1U);
  }
  EXPECT_EQ(value.use_count(), 1);
  map.Put(2, value);
  EXPECT_TRUE(map.Remove(3).empty());
  EXPECT_EQ(map.Remove(2).front().second, value);
  EXPECT_EQ(map.Peek(2), nullptr);
  EXPECT_EQ(map.RemoveAll().size(), 1U);
  EXPECT_EQ(map.size(), 0U);
  EXPECT_TRUE(map.RemoveAll().empty());
}

}  // namespace
}  // namespace ctxfs
