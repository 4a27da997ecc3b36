// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/brief_interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace ctxfs {
namespace {

using std::chrono::milliseconds;

// What the clocks of the machine and of the thread show.
BriefInterrupt::Clock::time_point shown_time;
ThreadUsage shown_usage;

class BriefInterruptTest : public testing::Test {
 protected:
  ~BriefInterruptTest() override {
    shown_time = {};
    shown_usage = {};
  }

  const BriefInterrupt brief_{[] { return shown_time; },
                              [] { return shown_usage; }};
};

TEST_F(BriefInterruptTest, WorkWithinItsTimeGoesOn) {
  shown_time += milliseconds(2);
  EXPECT_FALSE(brief_.interrupted());
  EXPECT_TRUE(brief_.MayTake(1024));
  EXPECT_FALSE(brief_.gave_up());
}

TEST_F(BriefInterruptTest, WorkThatUsesAProcessorForLongIsGivenUp) {
  for (int i = 0; i < 10 && !brief_.interrupted(); ++i) {
    shown_time += milliseconds(1);
    shown_usage.processor += milliseconds(1);
  }
  EXPECT_TRUE(brief_.gave_up());
  EXPECT_FALSE(brief_.is_large());
}

TEST_F(BriefInterruptTest, TimeInWhichOthersRunDoesNotCount) {
  for (int i = 0; i < 100; ++i) {
    shown_time += milliseconds(50);
    EXPECT_FALSE(brief_.interrupted()) << i;
  }
}

TEST_F(BriefInterruptTest, WorkThatWaitsAgainIsGivenUp) {
  shown_time += milliseconds(50);
  ++shown_usage.waits;
  EXPECT_FALSE(brief_.interrupted());
  ++shown_usage.waits;
  EXPECT_TRUE(brief_.interrupted());
}

TEST_F(BriefInterruptTest, LargeWorkIsGivenUpAtOnce) {
  EXPECT_FALSE(brief_.MayTake(limits::kMiB));
  EXPECT_TRUE(brief_.interrupted());
  EXPECT_TRUE(brief_.is_large());
}

TEST_F(BriefInterruptTest, Item41_17_OtherThreadsMayTakePart) {
  std::thread([this] {
    EXPECT_FALSE(brief_.interrupted()) << "in time";
  }).join();
  shown_time += milliseconds(50);
  EXPECT_FALSE(brief_.interrupted()) << "the thread that began may be waiting";
  // What the others have used says nothing of it.
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([this] {
      EXPECT_TRUE(brief_.interrupted());
      EXPECT_FALSE(brief_.MayTake(limits::kMiB));
    });
  }
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(brief_.gave_up());
  EXPECT_TRUE(brief_.is_large());
}

TEST(ThreadUsage, CountsWaitsAndTime) {
  const ThreadUsage before = ThreadUsage::Now();
  std::this_thread::sleep_for(milliseconds(1));
  const ThreadUsage after = ThreadUsage::Now();
  EXPECT_GT(after.waits, before.waits);
  EXPECT_GT(after.processor, before.processor);
}

}  // namespace
}  // namespace ctxfs
