// SPDX-License-Identifier: Apache-2.0
#include "core/base/heap/heap_meter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "core/base/bytes.h"
#include "tests/unit/testing/heap.h"

namespace ctxfs {
namespace {

TEST(HeapMeter, CountsWhatIsLeftAllocated) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  const HeapMeter meter;
  EXPECT_EQ(meter.bytes(), 0U);
  auto text = std::make_unique<std::string>(10'000, 'x');
  EXPECT_GE(meter.bytes(), 10'000U);
  EXPECT_LT(meter.bytes(), 12'000U);
  text.reset();
  EXPECT_EQ(meter.bytes(), 0U);
  const Buffer large(size_t{5} << 20);
  EXPECT_GE(meter.bytes(), large.size());
}

TEST(HeapMeter, LeavesOutOtherThreads) {
  const HeapMeter meter;
  std::unique_ptr<std::string> text;
  std::thread other(
      [&text] { text = std::make_unique<std::string>(100'000, 'x'); });
  other.join();
  EXPECT_LT(meter.bytes(), 10'000U);
  text.reset();  // a negative amount counts as 0
  EXPECT_EQ(meter.bytes(), 0U);
}

TEST(HeapMeter, LeavesOutWhatIsUnmetered) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  const HeapMeter meter;
  std::unique_ptr<std::string> text;
  {
    const UnmeteredHeap pause;
    text = std::make_unique<std::string>(100'000, 'x');
  }
  EXPECT_EQ(meter.bytes(), 0U);
  const std::string counted(10'000, 'x');
  EXPECT_GE(meter.bytes(), 10'000U);
}

}  // namespace
}  // namespace ctxfs
