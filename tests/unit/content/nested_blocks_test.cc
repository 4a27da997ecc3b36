// SPDX-License-Identifier: Apache-2.0
//
// Blocks that are made from other blocks of the same cache, as those of a
// container that is an encoded entry of another container are.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/content/block_cache.h"
#include "core/content/read_context.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

/// The bytes that blocks are being made of at once.
struct Peak {
  std::atomic<uint64_t> now = 0;
  std::atomic<uint64_t> most = 0;

  void Add(uint64_t bytes) {
    const uint64_t sum = now.fetch_add(bytes) + bytes;
    uint64_t before = most.load();
    while (before < sum && !most.compare_exchange_weak(before, sum)) {
    }
  }
  void Take(uint64_t bytes) { now.fetch_sub(bytes); }
};

/// A block of `size` bytes, made from the bytes of `base` if there is one.
class MadeBlock final : public Block {
 public:
  MadeBlock(uint64_t index, size_t size, const Block* base = nullptr,
            Peak* peak = nullptr)
      : Block({7, index}), size_(size), base_(base), peak_(peak) {}

  uint64_t cost() const override { return size_; }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (peak_ != nullptr) peak_->Add(size_);
    ++made;
    if (before_base) before_base();
    Result<Buffer> bytes = Make(context);
    if (peak_ != nullptr) peak_->Take(size_);
    return bytes;
  }

  std::function<void()> before_base;
  mutable std::atomic<int> made = 0;

 private:
  Result<Buffer> Make(const ReadContext& context) const {
    char first = 'a';
    if (base_ != nullptr) {
      const Result<BlockCache::Pinned> base = context.Get(*base_);
      if (!base) return base.error();
      first = static_cast<char>(AsText((*base)->span())[0] + 1);
    }
    return BufferOf(std::string(size_, first));
  }

  size_t size_;
  const Block* base_;
  Peak* peak_;
};

std::string Text(const Result<BlockCache::Pinned>& block) {
  EXPECT_TRUE(Ok(block));
  return block ? std::string(AsText((*block)->span())) : "";
}

TEST(NestedBlocks, AreMadeOfEachOther) {
  BlockCache cache(1000);
  const MadeBlock a(0, 3);
  const MadeBlock b(1, 4, &a);
  const MadeBlock c(2, 5, &b);
  EXPECT_EQ(Text(cache.Get(c, cache)), "ccccc");
  EXPECT_EQ(Text(cache.Get(b, cache)), "bbbb");
  EXPECT_EQ(a.made + b.made + c.made, 3);
  EXPECT_EQ(cache.stats().bytes, 12U);
}

// What others read last is not kept beside it.
TEST(NestedBlocks, Item28_14_WorkThatTakesAllMemoryGetsAllOfIt) {
  BlockCache cache(100);
  const MadeBlock base(0, 60);
  const MadeBlock block(1, 10, &base);
  EXPECT_EQ(Text(cache.Get(block, cache)), std::string(10, 'b'));
  EXPECT_EQ(cache.stats().bytes, 70U);
  EXPECT_TRUE(Ok(cache.Once(
      {8, 0}, cache, [] { return false; },
      [&](const ReadContext& /*context*/) -> Status {
        EXPECT_EQ(cache.stats().bytes, 0U);
        return {};
      },
      100)));
}

// A thread that holds the memory of one block needs memory for the next. If all
// threads waited for it, none would ever continue.
TEST(NestedBlocks, DoNotWaitForEachOthersMemory) {
  constexpr int kThreads = 8;
  constexpr size_t kSize = 60;
  BlockCache cache(100);
  std::vector<std::unique_ptr<MadeBlock>> bases;
  std::vector<std::unique_ptr<MadeBlock>> blocks;
  for (uint64_t i = 0; i < kThreads; ++i) {
    bases.push_back(std::make_unique<MadeBlock>(2 * i, kSize));
    blocks.push_back(
        std::make_unique<MadeBlock>(2 * i + 1, kSize, bases.back().get()));
  }
  for (int round = 0; round < 50; ++round) {
    InThreads(kThreads, [&](int i) {
      const auto at = static_cast<size_t>(i);
      EXPECT_EQ(Text(cache.Get(*blocks[at], cache)), std::string(kSize, 'b'));
      EXPECT_EQ(Text(cache.Get(*bases[at], cache)), std::string(kSize, 'a'));
    });
    cache.Drop();
  }
}

// The reverse: one thread wants the outer block alone, and waits for memory
// that the other has reserved, which in turn wants the outer block.
TEST(NestedBlocks, DoNotWaitForOneThatWaitsForTheirMemory) {
  BlockCache cache(100);
  const MadeBlock base(0, 60);
  const MadeBlock block(1, 60, &base);
  for (int round = 0; round < 200; ++round) {
    InThreads(4, [&](int i) {
      EXPECT_EQ(Text(cache.Get(i % 2 == 0 ? block : base, cache)),
                std::string(60, i % 2 == 0 ? 'b' : 'a'));
    });
    cache.Drop();
  }
}

// All have begun and want more than there is: they go on one after the other.
TEST(NestedBlocks, ExceedTheBudgetByOneChainAtATime) {
  constexpr int kThreads = 6;
  constexpr uint64_t kBudget = 100;
  constexpr size_t kSize = 60;
  Peak peak;
  std::barrier all(kThreads);
  BlockCache cache(kBudget);
  std::vector<std::unique_ptr<MadeBlock>> chain;
  std::vector<const MadeBlock*> tops;
  for (uint64_t i = 0; i < kThreads; ++i) {
    const MadeBlock* base = nullptr;
    for (uint64_t depth = 0; depth < 3; ++depth) {
      const size_t size = depth == 2 ? 1 : kSize;
      chain.push_back(
          std::make_unique<MadeBlock>(10 * i + depth, size, base, &peak));
      base = chain.back().get();
    }
    chain.back()->before_base = [&all] { all.arrive_and_wait(); };
    tops.push_back(base);
  }
  InThreads(kThreads, [&](int i) {
    EXPECT_EQ(Text(cache.Get(*tops[static_cast<size_t>(i)], cache)), "c");
  });
  EXPECT_LE(peak.most, kBudget + kSize);
  EXPECT_GE(peak.most, 2 * kSize) << "a chain that does not fit is made too";
}

// However small the cache: what all blocks of a container are made from is not
// made again for each.
TEST(NestedBlocks, KeepWhatTheNextIsMadeOf) {
  for (const uint64_t budget : {0U, 10U, 103U, 104U, 1000U}) {
    BlockCache cache(budget);
    const MadeBlock base(0, 100);
    for (uint64_t i = 1; i <= 50; ++i) {
      const MadeBlock block(i, 4, &base);
      EXPECT_EQ(Text(cache.Get(block, cache)), "bbbb");
      EXPECT_LE(cache.stats().bytes, std::max<uint64_t>(budget, 104));
    }
    EXPECT_EQ(base.made, 1) << budget;
    cache.Drop();
    EXPECT_EQ(cache.stats().bytes, 0U);
  }
}

TEST(NestedBlocks, KeepOneThatOthersAreMadeOf) {
  BlockCache cache(10);
  const MadeBlock first(0, 100);
  MadeBlock second(1, 100);
  EXPECT_EQ(Text(cache.Get(MadeBlock(2, 4, &first), cache)), "bbbb");
  const MadeBlock third(3, 4, &second);
  second.before_base = [&cache] { EXPECT_EQ(cache.stats().bytes, 0U); };
  EXPECT_EQ(Text(cache.Get(third, cache)), "bbbb");
  EXPECT_LE(cache.stats().bytes, 104U);
  EXPECT_EQ(Text(cache.Get(MadeBlock(4, 4, &second), cache)), "bbbb");
  EXPECT_EQ(second.made, 1);
}

}  // namespace
}  // namespace ctxfs
