// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/ahead_budget.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace ctxfs::remote {
namespace {

using limits::kKiB;
using limits::kMiB;
using std::chrono::milliseconds;
using Clock = AheadBudget::Clock;

constexpr uint64_t kNear = 200;  // microseconds
constexpr uint64_t kFar = 20'000;

class Budget : public testing::Test {
 protected:
  /// Replies of 4 MiB for a second, at so many bytes a second.
  void Receive(uint64_t first_us, uint64_t bytes_per_second) {
    constexpr uint64_t kEach = 4 * kMiB;
    const auto each =
        std::chrono::microseconds(kEach * 1'000'000 / bytes_per_second);
    for (const auto end = now_ + std::chrono::seconds(1); now_ < end;) {
      budget_.NoteReply(first_us, kEach, now_ += each);
    }
  }
  AheadBudget::Window NewReader() {
    uint64_t reader = 0;
    return budget_.Share(&reader, now_);
  }

  Clock::time_point now_ = Clock::now();
  AheadBudget budget_;
};

TEST_F(Budget, Item44_3_AFarAndFastServerGetsTwiceWhatIsOnItsWay) {
  Receive(kFar, 1000 * kMiB);
  const AheadBudget::Window window = NewReader();
  EXPECT_GE(window.most, 37 * kMiB);
  EXPECT_LE(window.most, 43 * kMiB);
  EXPECT_EQ(window.first, 2 * kMiB);
}

TEST_F(Budget, Item44_3_NoServerGetsMoreThanAll) {
  Receive(3'000'000, 4000 * kMiB);
  EXPECT_EQ(NewReader().most, AheadBudget::kMaxWhole);
  Receive(UINT32_MAX, 1);
  EXPECT_LE(NewReader().most, AheadBudget::kMaxWhole);
}

TEST_F(Budget, Item44_3_ANearServerIsReadALittleAhead) {
  EXPECT_EQ(NewReader().first, 128 * kKiB);
  Receive(kNear, 1000 * kMiB);
  EXPECT_LE(NewReader().first, 256 * kKiB);
}

TEST_F(Budget, Item44_3_AFarServerIsReadAheadBeforeItsRateIsKnown) {
  budget_.NoteReply(kFar, 64 * kKiB, now_);
  EXPECT_EQ(NewReader().first, 2 * kMiB);
}

TEST_F(Budget, Item44_3_AReplyThatWaitedForOthersSaysNothingOfTheLine) {
  Receive(kNear, 1000 * kMiB);
  budget_.NoteReply(kFar, 4 * kMiB, now_);
  EXPECT_LE(NewReader().first, 256 * kKiB);
}

TEST_F(Budget, Item44_3_ReadersOfTheMomentShareAlike) {
  std::vector<uint64_t> readers(32);
  for (uint64_t& reader : readers) (void)budget_.Share(&reader, now_);
  const AheadBudget::Window one = budget_.Share(readers.data(), now_);
  EXPECT_EQ(one.most, kMiB);
  EXPECT_TRUE(budget_.IsActive(readers.back(), now_));
  now_ += milliseconds(1500);
  EXPECT_FALSE(budget_.IsActive(readers.back(), now_));
  EXPECT_EQ(budget_.Share(readers.data(), now_).most, 32 * kMiB);
  EXPECT_FALSE(budget_.IsActive(0, now_));
}

TEST_F(Budget, Item44_3_AnyNumberOfReadersTakesBoundedMemory) {
  AheadBudget::Window last{};
  for (unsigned i = 0; i < 100'000; ++i) last = NewReader();
  EXPECT_EQ(last.most, 256 * kKiB);
}

}  // namespace
}  // namespace ctxfs::remote
