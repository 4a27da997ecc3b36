// SPDX-License-Identifier: Apache-2.0
#include "core/base/work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/content/content.h"
#include "core/content/read_context.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

TEST(Work, IsCountedUpToItsLimit) {
  Work work(100, 7);
  EXPECT_TRUE(Ok(work.Charge(60)));
  EXPECT_TRUE(Ok(work.CheckCharge(40)));
  EXPECT_TRUE(Fails(work.CheckCharge(41), Code::kLimit));
  const Status refused = work.Charge(41);
  ASSERT_TRUE(Fails(refused, Code::kLimit));
  EXPECT_EQ(refused.error().what,
            "needs 101 bytes of work, and a file of 7 bytes may cause 100 (see "
            "-o max_expansion)");
  EXPECT_TRUE(Ok(work.Charge(40))) << "what was refused is not counted";
  EXPECT_TRUE(Fails(work.Charge(1), Code::kLimit));
  EXPECT_TRUE(Fails(work.Charge(UINT64_MAX), Code::kLimit));
}

TEST(Work, Item28_19_ThreadsTogetherSpendNoMoreThanItsLimit) {
  constexpr uint64_t kMax = 200'000;
  constexpr int kThreads = 8;
  Work work(kMax, 0);
  std::atomic<uint64_t> spent = 0;
  std::atomic<int> waiting = kThreads;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (--waiting; waiting != 0;) {
        }
        while (work.Charge(3)) spent += 3;
      });
    }
  }
  EXPECT_LE(spent, kMax);
  EXPECT_GT(spent, kMax - 3);
  EXPECT_TRUE(Ok(work.Charge(kMax - spent)));
  EXPECT_TRUE(Fails(work.Charge(1), Code::kLimit));
}

TEST(WorkLimit, GrowsWithTheBytesStored) {
  const WorkLimit limit{.base = 1000, .factor = 10};
  EXPECT_EQ(limit.For(0), 1000U);
  EXPECT_EQ(limit.For(50), 1500U);
  EXPECT_EQ(limit.For(UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(limit.For(UINT64_MAX / 10), UINT64_MAX);
  EXPECT_EQ((WorkLimit{.base = 5, .factor = 0}).For(0), UINT64_MAX) << "none";
}

TEST(Work, StopsABlockBeforeItIsProduced) {
  BlockCache cache(1 << 20);
  int produced = 0;
  const TestBlock block({9, 0}, 5000, [&]() -> Result<Buffer> {
    ++produced;
    return BufferOf("bytes");
  });
  Work little(4999, 0);
  EXPECT_TRUE(Fails(ReadContext(cache).With(little).Get(block), Code::kLimit));
  EXPECT_EQ(produced, 0);
  Work enough(5000, 0);
  EXPECT_TRUE(Ok(ReadContext(cache).With(enough).Get(block)));
  EXPECT_TRUE(Ok(ReadContext(cache).With(little).Get(block)))
      << "what is there costs nothing";
}

TEST(Work, StopsAScanBeforeItReads) {
  const auto source = std::make_shared<FaultySource>(std::string(5000, 'x'));
  const ChecksumGuard guard({9, 1},
                            {source, 0, 5000, {ChecksumKind::kCrc32c, 1}},
                            std::make_shared<AtomicVerdict>(Verdict::kUnknown));
  BlockCache cache(0);
  Work little(4999, 0);
  EXPECT_TRUE(
      Fails(guard.Verify(ReadContext(cache).With(little)), Code::kLimit));
  EXPECT_EQ(source->calls(), 0U);
}

class Zeros final : public Transform {
 public:
  Status Compute(uint64_t /*offset*/, MutableBytes out,
                 const ReadContext& /*context*/) const override {
    computed += out.size();
    return {};
  }
  mutable std::atomic<uint64_t> computed = 0;
};

TEST(Work, BoundsWhatIsComputed) {
  const auto zeros = std::make_shared<const Zeros>();
  Content content;
  content.Append(Computed{zeros, 0}, 1 << 20);
  BlockCache cache(0);
  Work work(10'000, 0);
  const ReadContext context = ReadContext(cache).With(work);
  Window window;
  EXPECT_TRUE(Ok(content.Read(0, 6000, context, window)));
  EXPECT_TRUE(Fails(content.Read(0, 6000, context, window), Code::kLimit));
  EXPECT_EQ(zeros->computed, 6000U);
  EXPECT_TRUE(Fails(content.Scan(ReadContext(cache).With(work)), Code::kLimit));
}

TEST(Content, TellsHowMuchWorkItNeedsFirst) {
  const auto source = std::make_shared<FaultySource>(std::string(5000, 'x'));
  const auto verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  Content plain;
  plain.Append(Range{source, 0, nullptr}, 5000);
  EXPECT_FALSE(plain.WorkExceeds(0));
  Content guarded;
  guarded.Append(Range{source, 0,
                       std::make_shared<const ChecksumGuard>(
                           Key{9, 2},
                           ChecksumGuard::Guarded{
                               source, 0, 5000, {ChecksumKind::kCrc32c, 1}},
                           verdict)},
                 100);
  EXPECT_TRUE(guarded.WorkExceeds(4999));
  EXPECT_FALSE(guarded.WorkExceeds(5000));
  *verdict = Verdict::kPassed;
  EXPECT_FALSE(guarded.WorkExceeds(0));
  Content decoded = plain;
  const auto block = [](uint64_t cost) {
    return std::make_shared<const TestBlock>(Key{9, 3}, cost,
                                             [] { return BufferOf("x"); });
  };
  decoded.Append(Decoded{block(70), 0}, 1);
  decoded.Append(Decoded{block(50), 0}, 1);
  EXPECT_TRUE(decoded.WorkExceeds(119));
  EXPECT_FALSE(decoded.WorkExceeds(120));
  EXPECT_EQ(decoded.LargestBlock(), 70U);
  decoded.Append(Decoded{block(0), 0}, 1);
  EXPECT_TRUE(decoded.WorkExceeds(UINT64_MAX - 1)) << "it is not known";
}

}  // namespace
}  // namespace ctxfs
