// SPDX-License-Identifier: Apache-2.0
//
// What happens to work and to those who wait for it when a request is
// interrupted.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "core/base/interruptible_wait.h"
#include "core/content/checksum_guard.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// A block whose production ends when the test lets it, or when its context is
/// interrupted.
class SlowBlock final : public Block {
 public:
  explicit SlowBlock(uint64_t index, uint64_t cost = 10)
      : Block({5, index}), cost_(cost) {}

  uint64_t cost() const override { return cost_; }
  Result<Buffer> Produce(const ReadContext& context) const override {
    ++runs;
    runs.notify_all();
    while (!finish) {
      if (Status wanted = context.Check(); !wanted) {
        return std::move(wanted).error();
      }
      std::this_thread::yield();
    }
    return BufferOf("slow");
  }

  /// Blocks until production has begun `times` times.
  void AwaitRuns(int times) const {
    for (int now = runs; now < times; now = runs) runs.wait(now);
  }

  mutable std::atomic<int> runs = 0;
  std::atomic<bool> finish = false;

 private:
  uint64_t cost_;
};

std::future<Result<BlockCache::Pinned>> GetIn(BlockCache& cache,
                                              const Block& block,
                                              const Interrupt& interrupt) {
  return std::async(std::launch::async, [&cache, &block, &interrupt] {
    return cache.Get(block, ReadContext(cache, interrupt));
  });
}

TEST(Interrupted, StopsTheWorkThatNobodyElseWaitsFor) {
  BlockCache cache(1000);
  SlowBlock block(0);
  SettableInterrupt interrupt;
  auto got = GetIn(cache, block, interrupt);
  block.AwaitRuns(1);
  interrupt.Set();
  EXPECT_TRUE(Fails(got.get(), Code::kInterrupted));
  EXPECT_EQ(cache.stats().failed, 0U);
  EXPECT_EQ(cache.stats().blocks, 0U);
  block.finish = true;
  EXPECT_TRUE(Ok(cache.Get(block, cache))) << "nothing is remembered of it";
}

TEST(Interrupted, DoesNotEvenBegin) {
  BlockCache cache(1000);
  SlowBlock block(0);
  SettableInterrupt interrupt;
  interrupt.Set();
  EXPECT_TRUE(Fails(cache.Get(block, ReadContext(cache, interrupt)),
                    Code::kInterrupted));
  EXPECT_EQ(block.runs, 0);
}

TEST(Interrupted, LeavesWorkThatAnotherReaderWaitsFor) {
  BlockCache cache(1000);
  SlowBlock block(0);
  SettableInterrupt first_interrupt;
  auto first = GetIn(cache, block, first_interrupt);
  block.AwaitRuns(1);
  auto second = GetIn(cache, block, NeverInterrupted());
  while (cache.stats().waiting == 0) std::this_thread::yield();
  first_interrupt.Set();
  block.finish = true;
  EXPECT_TRUE(Ok(second.get()));
  EXPECT_TRUE(Ok(first.get())) << "it was made in its thread";
  EXPECT_EQ(block.runs, 1);
}

TEST(Interrupted, StopsWhenTheLastOfSeveralReadersGivesUp) {
  BlockCache cache(1000);
  SlowBlock block(0);
  SettableInterrupt first_interrupt;
  SettableInterrupt second_interrupt;
  auto first = GetIn(cache, block, first_interrupt);
  block.AwaitRuns(1);
  auto second = GetIn(cache, block, second_interrupt);
  while (cache.stats().waiting == 0) std::this_thread::yield();
  first_interrupt.Set();
  second_interrupt.Set();
  EXPECT_TRUE(Fails(second.get(), Code::kInterrupted));
  EXPECT_TRUE(Fails(first.get(), Code::kInterrupted));
  EXPECT_EQ(block.runs, 1);
  EXPECT_EQ(cache.stats().waiting, 0U);
}

TEST(Interrupted, WaitsForWorkNoLonger) {
  BlockCache cache(1000);
  SlowBlock block(0);
  auto first = GetIn(cache, block, NeverInterrupted());
  block.AwaitRuns(1);
  SettableInterrupt interrupt;
  auto second = GetIn(cache, block, interrupt);
  while (cache.stats().waiting == 0) std::this_thread::yield();
  interrupt.Set();
  EXPECT_TRUE(Fails(second.get(), Code::kInterrupted));
  EXPECT_EQ(block.runs, 1);
  block.finish = true;
  EXPECT_TRUE(Ok(first.get())) << "its own reader still waits";
}

TEST(Interrupted, WaitsForMemoryNoLonger) {
  BlockCache cache(100);
  SlowBlock large(0, 90);
  SlowBlock other(1, 90);
  auto first = GetIn(cache, large, NeverInterrupted());
  large.AwaitRuns(1);
  SettableInterrupt interrupt;
  auto second = GetIn(cache, other, interrupt);
  interrupt.Set();
  EXPECT_TRUE(Fails(second.get(), Code::kInterrupted));
  EXPECT_EQ(other.runs, 0);
  large.finish = true;
  EXPECT_TRUE(Ok(first.get()));
}

TEST(Interrupted, OuterWorkGoesOnWhileSomeoneWaitsForIt) {
  // A reader is in work of one key, within that in a block of another, and is
  // interrupted; a second reader waits for the outer work.
  BlockCache cache(1000);
  SlowBlock block(0);
  SettableInterrupt interrupt;
  std::atomic<bool> made = false;
  const auto done = [&] { return made.load(); };
  const auto work = [&](const ReadContext& shared) -> Status {
    auto got = shared.Get(block);
    if (!got) return std::move(got).error();
    made = true;
    return {};
  };
  auto first = std::async(std::launch::async, [&] {
    return cache.Once({6, 0}, ReadContext(cache, interrupt), done, work);
  });
  block.AwaitRuns(1);
  auto second = std::async(std::launch::async, [&] {
    return cache.Once({6, 0}, cache, done, work);
  });
  while (cache.stats().waiting == 0) std::this_thread::yield();
  interrupt.Set();
  block.finish = true;
  EXPECT_TRUE(Ok(second.get()));
  EXPECT_TRUE(Ok(first.get()));
  EXPECT_EQ(block.runs, 1);
}

TEST(Interrupted, GuardsStopBetweenPieces) {
  constexpr uint64_t kPiece = 256 * 1024;
  constexpr uint64_t kLength = 100 * kPiece;
  const auto source = std::make_shared<FaultySource>(std::string(kLength, 'x'));
  const auto verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  const ChecksumGuard guard(
      {7, 0}, {source, 0, kLength, Checksum{ChecksumKind::kCrc32c, 1}},
      verdict);
  BlockCache cache(1000);
  const InterruptAfter interrupt(4);
  EXPECT_TRUE(
      Fails(guard.Verify(ReadContext(cache, interrupt)), Code::kInterrupted));
  EXPECT_LE(source->bytes_read(), 4 * kPiece);
  EXPECT_EQ(*verdict, Verdict::kUnknown);
  EXPECT_EQ(cache.stats().failed, 0U);
}

TEST(Interrupted, ReadsAndScansStopBetweenExtents) {
  const auto source = std::make_shared<FaultySource>(std::string(10, 'x'));
  Content content;
  for (uint64_t i = 0; i < 10; ++i)
    content.Append(Range{source, i, nullptr}, 1);
  BlockCache cache(1000);
  Window window;
  const InterruptAfter reading(3);
  EXPECT_TRUE(Fails(content.Read(0, 10, ReadContext(cache, reading), window),
                    Code::kInterrupted));
  EXPECT_TRUE(window.slices().empty());
  EXPECT_EQ(source->calls(), 3U);
  for (const auto check : {&Content::Verify, &Content::Scan}) {
    source->ForgetAccesses();
    const InterruptAfter scanning(3);
    EXPECT_TRUE(Fails((content.*check)(ReadContext(cache, scanning)),
                      Code::kInterrupted));
    EXPECT_LE(source->bytes_read(), 3U);
  }
}

/// May not wait for others, as a thread that must answer at once.
class MustNotWait final : public Interrupt {
 public:
  bool interrupted() const override { return false; }
  bool MayTake(uint64_t bytes) const override { return bytes != kUnknownWork; }
};

/// A block that waits for a server.
class WaitingBlock final : public Block {
 public:
  WaitingBlock() : Block({5, 77}) {}
  uint64_t cost() const override { return 10; }
  Result<Buffer> Produce(const ReadContext& context) const override {
    CTXFS_TRY(context.CheckFor(Interrupt::kUnknownWork));
    return BufferOf("came");
  }
};

TEST(SharedWork, Item42_1_DoesNotWaitInAThreadThatMustNot) {
  BlockCache cache(1000);
  const WaitingBlock block;
  EXPECT_TRUE(Fails(cache.Get(block, ReadContext(cache, MustNotWait())),
                    Code::kInterrupted));
  EXPECT_TRUE(Ok(cache.Get(block, cache)));
}

/// A block that waits for what never comes, without asking from time to time.
class NeverBlock final : public Block {
 public:
  NeverBlock() : Block({5, 78}) {}
  uint64_t cost() const override { return 10; }
  Result<Buffer> Produce(const ReadContext& context) const override {
    Mutex mutex;
    CondVar never;
    const MutexLock lock(mutex);
    InterruptibleWait wait(never, context.interrupt());
    begun.count_down();
    for (; !wait.IsInterrupted(); ++waits) wait.Wait(mutex);
    return context.Check().error();
  }

  mutable std::latch begun{1};
  mutable int waits = 0;
};

/// Is to be asked again at a time that has passed, as one of a caller who gave
/// up a while ago.
class LongAgo final : public Interrupt {
 public:
  explicit LongAgo(const SettableInterrupt& given_up) : given_up_(given_up) {}
  bool interrupted() const override { return given_up_.interrupted(); }
  void AddListener(InterruptListener& one) const override {
    given_up_.AddListener(one);
  }
  void RemoveListener(InterruptListener& one) const override {
    given_up_.RemoveListener(one);
  }
  Clock::time_point AskAgainAt() const override {
    return interrupted() ? Clock::time_point() : Clock::time_point::max();
  }

 private:
  const SettableInterrupt& given_up_;
};

TEST(SharedWork, Item42_2_IsToldWhenTheLastOfThoseThatWaitHasGone) {
  BlockCache cache(1000);
  const NeverBlock block;
  SettableInterrupt first;
  SettableInterrupt second;
  const LongAgo first_asked(first);
  auto runs = GetIn(cache, block, first_asked);
  block.begun.wait();
  auto waits = GetIn(cache, block, second);
  while (cache.stats().waiting == 0) std::this_thread::yield();
  first.Set();
  // What would ask all the time does so now.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(cache.stats().waiting, 1U) << "it is still wanted";
  second.Set();
  EXPECT_TRUE(Fails(waits.get(), Code::kInterrupted));
  EXPECT_TRUE(Fails(runs.get(), Code::kInterrupted));
  EXPECT_LE(block.waits, 3) << "it was told, and did not ask";
}

}  // namespace
}  // namespace ctxfs
