// SPDX-License-Identifier: Apache-2.0
//
// What the cache does with blocks that their reader has had all of.
#include <gtest/gtest.h>

#include <vector>

#include "core/base/limits.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"
#include "tests/unit/testing/blocks.h"

namespace ctxfs {
namespace {

constexpr size_t kSize = 8 * limits::kMiB;

TestBlock BlockOf(uint64_t index, size_t size = kSize) {
  return TestBlock({1, index}, size,
                   [size] { return Result<Buffer>(Buffer(size)); });
}

bool IsKept(BlockCache& cache, const Block& block) {
  const uint64_t hits = cache.stats().hits;
  EXPECT_TRUE(cache.Get(block, cache));
  return cache.stats().hits > hits;
}

TEST(MarkConsumed, LetsConsumedBlocksGoBeforeOlderOnes) {
  BlockCache cache(3 * kSize);
  const TestBlock a = BlockOf(0);
  const TestBlock b = BlockOf(1);
  const TestBlock c = BlockOf(2);
  const TestBlock d = BlockOf(3);
  for (const TestBlock* block : {&a, &b, &c})
    ASSERT_TRUE(cache.Get(*block, cache));
  cache.MarkConsumed(b);
  ASSERT_TRUE(cache.Get(d, cache));
  EXPECT_TRUE(IsKept(cache, a));
  EXPECT_TRUE(IsKept(cache, c));
  EXPECT_FALSE(IsKept(cache, b));
}

TEST(MarkConsumed, KeepsTheLastOfThemForReadsUnderWay) {
  BlockCache cache(limits::kGiB);
  std::vector<TestBlock> blocks;
  for (uint64_t i = 0; i < 10; ++i) blocks.push_back(BlockOf(i));
  for (const TestBlock& block : blocks) {
    ASSERT_TRUE(cache.Get(block, cache));
    cache.MarkConsumed(block);
    cache.MarkConsumed(block);  // a second time changes nothing
  }
  EXPECT_EQ(cache.stats().bytes, 4 * kSize);
  for (size_t i = 6; i < 10; ++i) EXPECT_TRUE(IsKept(cache, blocks[i]));
  EXPECT_FALSE(IsKept(cache, blocks[5]));
}

TEST(MarkConsumed, LeavesSmallBlocksBe) {
  BlockCache cache(limits::kGiB);
  const TestBlock small = BlockOf(0, 1000);
  ASSERT_TRUE(cache.Get(small, cache));
  cache.MarkConsumed(small);
  for (uint64_t i = 1; i < 10; ++i) {
    const TestBlock block = BlockOf(i);
    ASSERT_TRUE(cache.Get(block, cache));
    cache.MarkConsumed(block);
  }
  EXPECT_TRUE(IsKept(cache, small));
}

TEST(MarkConsumed, OfAMissingBlockDoesNothing) {
  BlockCache cache(kSize);
  cache.MarkConsumed(BlockOf(7));
  EXPECT_EQ(cache.stats().bytes, 0U);
}

TEST(Prepare, ProducesBlocksAndReadsNothingElse) {
  BlockCache cache(limits::kGiB);
  Content content;
  content.Append(Decoded{std::make_shared<TestBlock>(BlockOf(0)), 0}, kSize);
  content.Append(Decoded{std::make_shared<TestBlock>(BlockOf(1)), 0}, kSize);
  content.Prepare(cache);
  EXPECT_EQ(cache.stats().blocks, 2U);
  content.MarkConsumed(cache);
  EXPECT_EQ(cache.stats().blocks, 2U);
}

TEST(Buffer, OfTheSameSizeTakesTheSameMemoryAgain) {
  const std::byte* first = nullptr;
  {
    const Buffer buffer(kSize);
    first = buffer.data();
  }
  const Buffer buffer(kSize - 100);
  EXPECT_EQ(buffer.data(), first);
  EXPECT_EQ(buffer.size(), kSize - 100);
}

}  // namespace
}  // namespace ctxfs
