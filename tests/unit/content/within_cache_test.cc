// SPDX-License-Identifier: Apache-2.0
#include "core/content/within_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/heap/heap_meter.h"
#include "core/base/limits.h"
#include "core/content/block_cache.h"
#include "core/content/made_once.h"
#include "core/content/read_context.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

constexpr size_t kPart = size_t{64} << 10;

class WithinCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  }

  BlockCache cache{32 * limits::kMiB};
};

TEST_F(WithinCacheTest, Item28_14_WorkThatIsNotAloneTakesLittle) {
  constexpr size_t kParts = 100;
  std::vector<size_t> runs;  // parts that each made
  EXPECT_TRUE(Ok(WithinCache(cache, [&](const ReadContext& request) -> Status {
    std::vector<std::string> parts;
    while (parts.size() < kParts) {
      if (!request.Check()) break;
      parts.emplace_back(kPart, 'x');
    }
    runs.push_back(parts.size());
    return request.Check();
  })));
  ASSERT_EQ(runs.size(), 2U) << "with little memory, and alone";
  EXPECT_LE(runs[0] * kPart, limits::kSmallWorkBytes + kPart);
  EXPECT_EQ(runs[1], kParts);
}

TEST_F(WithinCacheTest, Item28_14_WhatIsLentIsNotThereForBlocks) {
  for (uint64_t i = 0; i < 32; ++i) {
    const TestBlock block({1, i}, limits::kMiB, [] {
      return Result<Buffer>(BufferOf(std::string(limits::kMiB, 'x')));
    });
    ASSERT_TRUE(Ok(cache.Get(block, cache)));
  }
  EXPECT_EQ(cache.stats().bytes, 32 * limits::kMiB);
  {
    const auto lease = cache.Lend(12 * limits::kMiB);
    ASSERT_TRUE(Ok(lease));
    EXPECT_EQ(cache.stats().bytes, 20 * limits::kMiB);
    EXPECT_TRUE(Fails(cache.Lend(5 * limits::kMiB), Code::kNoMemory));
    EXPECT_TRUE(Ok(cache.Lend(4 * limits::kMiB)));
  }
  EXPECT_TRUE(Ok(cache.Lend(40 * limits::kMiB))) << "one alone may be more";
}

TEST_F(WithinCacheTest, Item28_14_WhoFreesABlockMayTakeNoMoreForIt) {
  const auto get = [this](uint64_t number) {
    const TestBlock block({1, number}, limits::kMiB, [] {
      return Result<Buffer>(BufferOf(std::string(limits::kMiB, 'x')));
    });
    return cache.Get(block, cache);
  };
  const int64_t before = thread_heap_bytes;
  {
    const auto last = get(0);
    ASSERT_TRUE(Ok(last));
    cache.Drop();
    EXPECT_EQ((*last)->size(), limits::kMiB);
  }
  EXPECT_LT(std::abs(thread_heap_bytes - before), int64_t{kPart});
  for (uint64_t i = 0; i < 32; ++i) ASSERT_TRUE(Ok(get(i)));
  EXPECT_TRUE(Ok(cache.Lend(12 * limits::kMiB)));
  EXPECT_EQ(cache.stats().bytes, 20 * limits::kMiB);
  EXPECT_LT(std::abs(thread_heap_bytes - before), int64_t{kPart});
}

TEST_F(WithinCacheTest, Item28_14_WhatIsMadeOnceIsLent) {
  const auto make = [](size_t size) {
    return [size](const ReadContext& /*context*/) -> Result<Content> {
      return LiteralContent(std::string(size, 'x'));
    };
  };
  const MadeOnce large(make(12 * limits::kMiB));
  const MadeOnce other(make(12 * limits::kMiB));
  EXPECT_TRUE(Ok(large.Get(cache)));
  EXPECT_TRUE(Fails(other.Get(cache), Code::kNoMemory));
  EXPECT_TRUE(Ok(large.Get(cache))) << "it is there";
}

}  // namespace
}  // namespace ctxfs
