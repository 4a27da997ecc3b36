// SPDX-License-Identifier: Apache-2.0
#include "core/content/block_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/content/read_context.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

constexpr int kThreads = 8;

/// A block of `size` equal bytes that counts how often it is produced.
class CountedBlock {
 public:
  CountedBlock(uint64_t index, size_t size)
      : block({1, index}, size, [this, size] {
          ++produced;
          return Result<Buffer>(BufferOf(std::string(size, 'x')));
        }) {}

  int produced = 0;
  TestBlock block;
};

TEST(BlockCache, KeepsWhatItProduced) {
  BlockCache cache(1000);
  CountedBlock a(0, 100);
  const Result<BlockCache::Pinned> first = cache.Get(a.block, cache);
  const Result<BlockCache::Pinned> second = cache.Get(a.block, cache);
  ASSERT_TRUE(Ok(first));
  ASSERT_TRUE(Ok(second));
  EXPECT_EQ(*first, *second) << "the same bytes, not a copy";
  EXPECT_EQ(AsText((*first)->span()), std::string(100, 'x'));
  EXPECT_EQ(a.produced, 1);
  const BlockCache::Stats stats = cache.stats();
  EXPECT_EQ(stats.bytes, 100U);
  EXPECT_EQ(stats.blocks, 1U);
  EXPECT_EQ(stats.hits, 1U);
  EXPECT_EQ(stats.produced, 100U);
  EXPECT_EQ(stats.evictions, 0U);
}

TEST(BlockCache, KnowsBlocksByTheirKeysAlone) {
  BlockCache cache(1000);
  CountedBlock a(0, 100);
  CountedBlock same(0, 100);
  TestBlock other_owner({2, 0}, 1, [] { return BufferOf("y"); });
  EXPECT_TRUE(Ok(cache.Get(a.block, cache)));
  EXPECT_TRUE(Ok(cache.Get(same.block, cache)));
  EXPECT_EQ(same.produced, 0);
  EXPECT_EQ(AsText((*cache.Get(other_owner, cache))->span()), "y");
}

TEST(BlockCache, ProducesOnceForAllWhoWait) {
  BlockCache cache(1000);
  std::latch arrived(kThreads);
  std::atomic<int> produced = 0;
  const TestBlock block({1, 0}, 4, [&]() -> Result<Buffer> {
    ++produced;
    arrived.wait();  // until everybody has come for it
    return BufferOf("once");
  });
  std::vector<BlockCache::Pinned> got(kThreads);
  InThreads(kThreads, [&](int i) {
    arrived.count_down();
    Result<BlockCache::Pinned> bytes = cache.Get(block, cache);
    if (bytes) got[static_cast<size_t>(i)] = *bytes;
  });
  EXPECT_EQ(produced, 1);
  ASSERT_NE(got[0], nullptr);
  EXPECT_EQ(AsText(got[0]->span()), "once");
  for (const BlockCache::Pinned& bytes : got) EXPECT_EQ(bytes, got[0]);
  EXPECT_EQ(cache.stats().hits, uint64_t{kThreads} - 1);
}

TEST(BlockCache, ProducesDifferentBlocksAtTheSameTime) {
  BlockCache cache(1000);
  std::latch both(2);
  const auto meet = [&]() -> Result<Buffer> {
    both.arrive_and_wait();  // hangs unless the other one runs too
    return BufferOf("met");
  };
  const TestBlock blocks[] = {{{1, 0}, 3, meet}, {{1, 1}, 3, meet}};
  InThreads(2, [&](int i) { EXPECT_TRUE(Ok(cache.Get(blocks[i], cache))); });
}

TEST(BlockCache, GivesEveryoneTheErrorAndTriesAgainLater) {
  for (const Code code : {Code::kIo, Code::kChecksum, Code::kCorrupt}) {
    BlockCache cache(1000);
    std::latch arrived(kThreads);
    std::atomic<bool> broken = true;
    std::atomic<int> running = 0;
    std::atomic<int> at_once = 0;
    const TestBlock block({1, 0}, 4, [&]() -> Result<Buffer> {
      if (running.fetch_add(1) > 0) ++at_once;
      arrived.wait();
      --running;
      if (broken) return Error{code, "broken", 42};
      return BufferOf("fine");
    });
    std::atomic<int> failed = 0;
    InThreads(kThreads, [&](int) {
      arrived.count_down();
      if (Fails(cache.Get(block, cache), code, 42)) ++failed;
    });
    EXPECT_EQ(failed, kThreads);
    EXPECT_EQ(at_once, 0) << "one key runs once at a time, failing or not";
    EXPECT_EQ(cache.stats().blocks, 0U);
    EXPECT_EQ(cache.stats().failed > 0, code == Code::kChecksum);
    broken = false;
    const Result<BlockCache::Pinned> bytes = cache.Get(block, cache);
    ASSERT_TRUE(Ok(bytes));
    EXPECT_EQ(AsText((*bytes)->span()), "fine");
  }
}

TEST(BlockCache, LetsGoOfTheLeastRecentlyUsedFirst) {
  BlockCache cache(300);
  CountedBlock a(0, 100);
  CountedBlock b(1, 100);
  CountedBlock c(2, 100);
  CountedBlock d(3, 100);
  for (CountedBlock* one : {&a, &b, &c, &a, &d}) {
    EXPECT_TRUE(Ok(cache.Get(one->block, cache)));
  }
  EXPECT_EQ(cache.stats().evictions, 1U);
  EXPECT_EQ(cache.stats().bytes, 300U);
  for (CountedBlock* one : {&a, &c, &d}) {
    EXPECT_TRUE(Ok(cache.Get(one->block, cache)));
    EXPECT_EQ(one->produced, 1) << "kept";
  }
  EXPECT_TRUE(Ok(cache.Get(b.block, cache)));
  EXPECT_EQ(b.produced, 2) << "b was the oldest";
  EXPECT_TRUE(Ok(cache.Get(a.block, cache)));
  EXPECT_EQ(a.produced, 2) << "and then a was";
}

TEST(BlockCache, Item42_5_TouchedBlocksAreEvictedAfterOthers) {
  BlockCache cache(300);
  CountedBlock a(0, 100);
  CountedBlock b(1, 100);
  CountedBlock c(2, 100);
  CountedBlock d(3, 100);
  for (CountedBlock* one : {&a, &b, &c}) {
    EXPECT_TRUE(Ok(cache.Get(one->block, cache)));
  }
  const Key keys[] = {a.block.key(), b.block.key(), d.block.key()};
  cache.Touch(keys);
  EXPECT_EQ(cache.stats().hits, 0U);
  EXPECT_TRUE(Ok(cache.Get(d.block, cache)));
  EXPECT_NE(cache.FindKept(a.block), nullptr);
  EXPECT_NE(cache.FindKept(b.block), nullptr);
  EXPECT_EQ(cache.FindKept(c.block), nullptr);
}

TEST(BlockCache, KeepsWhatIsLargerThanTheBudgetUntilTheNext) {
  BlockCache cache(100);
  CountedBlock small(0, 60);
  CountedBlock large(1, 250);
  EXPECT_TRUE(Ok(cache.Get(small.block, cache)));
  EXPECT_TRUE(Ok(cache.Get(large.block, cache)));
  EXPECT_EQ(cache.stats().blocks, 1U);
  EXPECT_EQ(cache.stats().bytes, 250U);
  EXPECT_TRUE(Ok(cache.Get(large.block, cache)));
  EXPECT_EQ(large.produced, 1) << "kept alone";
  EXPECT_TRUE(Ok(cache.Get(small.block, cache)));
  EXPECT_EQ(small.produced, 2);
  EXPECT_EQ(cache.stats().bytes, 60U);
}

TEST(BlockCache, BoundsKeptAndProducedBytesTogether) {
  constexpr uint64_t kBudget = 1000;
  BlockCache cache(kBudget);
  std::atomic<uint64_t> in_production = 0;
  std::atomic<int> over = 0;
  std::atomic<int> large_not_alone = 0;
  std::vector<std::unique_ptr<TestBlock>> blocks;
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t cost = i == 0 ? 2 * kBudget : 20 * (i + 1);
    const auto produce = [&, cost]() -> Result<Buffer> {
      const uint64_t all = in_production.fetch_add(cost) + cost;
      if (cost > kBudget && all != cost) ++large_not_alone;
      if (cost <= kBudget) {
        if (all > kBudget) ++over;
        if (cache.stats().bytes + cost > kBudget) ++over;
      }
      Buffer bytes = BufferOf(std::string(cost / 2, 'x'));
      in_production -= cost;
      return bytes;
    };
    blocks.push_back(std::make_unique<TestBlock>(Key{1, i}, cost, produce));
  }
  std::atomic<int> failed = 0;
  InThreads(kThreads, [&](int thread) {
    std::mt19937 random(static_cast<uint32_t>(thread));
    for (int i = 0; i < 2000; ++i) {
      const TestBlock& block = *blocks[random() % blocks.size()];
      const Result<BlockCache::Pinned> bytes = cache.Get(block, cache);
      if (!bytes || (*bytes)->size() != block.cost() / 2) ++failed;
    }
  });
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(over, 0);
  EXPECT_EQ(large_not_alone, 0);
  EXPECT_GT(cache.stats().evictions, 0U);
}

TEST(BlockCache, TurnsAFailedAllocationIntoAnErrorForAll) {
  BlockCache cache(100);
  std::latch arrived(kThreads);
  std::atomic<bool> short_of_memory = true;
  const TestBlock block({1, 0}, 100, [&]() -> Result<Buffer> {
    arrived.wait();
    if (short_of_memory) throw std::bad_alloc();
    return BufferOf("fine");
  });
  std::atomic<int> failed = 0;
  InThreads(kThreads, [&](int) {
    arrived.count_down();
    if (Fails(cache.Get(block, cache), Code::kNoMemory)) ++failed;
  });
  EXPECT_EQ(failed, kThreads);
  short_of_memory = false;
  EXPECT_TRUE(Ok(cache.Get(block, cache)));
  EXPECT_TRUE(Ok(cache.Get(CountedBlock(1, 100).block, cache)))
      << "nothing of the budget is lost";
}

/// A cache and a block, kept alive by whatever thread is stuck with them.
struct Shared {
  BlockCache cache{1000};
  TestBlock block{{1, 0}, 5, [] { return BufferOf("bytes"); }, true};
};

// Wherever Get runs out of memory, no thread may wait for ever afterwards, and
// the cache's counts must stay right.
TEST(BlockCache, SurvivesAFailedAllocationAnywhereInGet) {
  bool fired = true;
  for (int64_t after = 0; fired; ++after) {
    SCOPED_TRACE(after);
    const auto shared = std::make_shared<Shared>();
    {
      const FailingNew failing(after);
      try {
        if (const auto bytes = shared->cache.Get(shared->block, shared->cache);
            !bytes) {
          EXPECT_EQ(bytes.error().code, Code::kNoMemory);
        }
      } catch (const std::bad_alloc&) {  // the caller's guard catches it
      }
      fired = failing.fired();
    }
    std::promise<bool> done;
    std::future<bool> worked = done.get_future();
    std::thread([shared, done = std::move(done)]() mutable {
      done.set_value(
          shared->cache.Get(shared->block, shared->cache).has_value());
    }).detach();
    if (worked.wait_for(std::chrono::seconds(20)) !=
        std::future_status::ready) {
      FAIL() << "the key is still marked as running";
    }
    EXPECT_TRUE(worked.get());
    EXPECT_EQ(shared->cache.stats().bytes, 5U);
    EXPECT_EQ(shared->cache.stats().blocks, 1U);
    shared->cache.Drop();
    EXPECT_EQ(shared->cache.stats().bytes, 0U);
    EXPECT_EQ(shared->cache.stats().blocks, 0U);
  }
}

TEST(BlockCache, LeavesSlicesValidWhenTheirBlockGoes) {
  BlockCache cache(100);
  CountedBlock a(0, 100);
  CountedBlock b(1, 100);
  const BlockCache::Pinned by_eviction = *cache.Get(a.block, cache);
  const BlockCache::Pinned by_drop = *cache.Get(b.block, cache);
  EXPECT_EQ(cache.stats().evictions, 1U);
  cache.Drop();
  EXPECT_EQ(cache.stats().bytes, 0U);
  EXPECT_EQ(cache.stats().blocks, 0U);
  EXPECT_EQ(AsText(by_eviction->span()), std::string(100, 'x'));
  EXPECT_EQ(AsText(by_drop->span()), std::string(100, 'x'));
  EXPECT_TRUE(Ok(cache.Get(b.block, cache)));
  EXPECT_EQ(b.produced, 2);
}

TEST(BlockCache, DropsWhileOthersRead) {
  BlockCache cache(500);
  std::atomic<int> failed = 0;
  InThreads(kThreads, [&](int thread) {
    for (int i = 0; i < 300; ++i) {
      const TestBlock block({1, static_cast<uint64_t>(i % 7)}, 100,
                            [] { return BufferOf(std::string(100, 'x')); });
      if (thread == 0) {
        cache.Drop();
      } else if (const auto bytes = cache.Get(block, cache);
                 !bytes || (*bytes)->size() != 100) {
        ++failed;
      }
    }
  });
  EXPECT_EQ(failed, 0);
}

TEST(BlockCache, CountsVerifications) {
  BlockCache cache(1000);
  const TestBlock good(
      {1, 0}, 1, [] { return BufferOf("x"); }, true);
  const TestBlock plain(
      {1, 1}, 1, [] { return BufferOf("x"); }, false);
  EXPECT_TRUE(Ok(cache.Get(good, cache)));
  EXPECT_TRUE(Ok(cache.Get(good, cache)));
  EXPECT_TRUE(Ok(cache.Get(plain, cache)));
  EXPECT_EQ(cache.stats().passed, 1U);
  cache.CountVerdict(Verdict::kPassed);
  cache.CountVerdict(Verdict::kFailed);
  cache.CountVerdict(Verdict::kUnknown);
  EXPECT_EQ(cache.stats().passed, 2U);
  EXPECT_EQ(cache.stats().failed, 1U);
}

TEST(BlockCacheOnce, RunsWorkOnceForAllWhoWait) {
  BlockCache cache(1000);
  std::atomic<bool> done = false;
  std::atomic<int> ran = 0;
  std::latch arrived(kThreads);
  std::atomic<int> failed = 0;
  InThreads(kThreads, [&](int) {
    arrived.count_down();
    const Status status = cache.Once(
        {1, 0}, cache, [&] { return done.load(); },
        [&](const ReadContext& /*context*/) -> Status {
          arrived.wait();
          ++ran;
          done = true;
          return {};
        });
    if (!status || !done) ++failed;
  });
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(failed, 0);
}

TEST(BlockCacheOnce, AsksBeforeItWorks) {
  BlockCache cache(1000);
  bool ran = false;
  EXPECT_TRUE(Ok(cache.Once(
      {1, 0}, cache, [] { return true; },
      [&](const ReadContext& /*context*/) -> Status {
        ran = true;
        return {};
      })));
  EXPECT_FALSE(ran);
}

TEST(BlockCacheOnce, LetsTheNextTryAfterAFailure) {
  BlockCache cache(1000);
  std::atomic<int> ran = 0;
  std::atomic<int> failed = 0;
  std::latch arrived(kThreads);
  InThreads(kThreads, [&](int) {
    arrived.count_down();
    const Status status = cache.Once(
        {1, 0}, cache, [&] { return ran >= 3; },
        [&](const ReadContext& /*context*/) -> Status {
          arrived.wait();
          if (++ran == 1) throw std::bad_alloc();
          if (ran == 2) return Error{Code::kIo, "broken"};
          return {};
        });
    if (!status) ++failed;
  });
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(failed, 2);
}

}  // namespace
}  // namespace ctxfs
