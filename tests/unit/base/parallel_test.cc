// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <vector>

#include "tests/unit/testing/heap.h"

namespace ctxfs {
namespace {

TEST(ForEachInParallel, CallsEachNumberOnce) {
  for (const unsigned jobs : {0U, 1U, 3U, 200U}) {
    std::vector<std::atomic<int>> calls(100);
    ForEachInParallel(calls.size(), jobs, [&](uint64_t i) { ++calls[i]; });
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(),
                            [](const auto& count) { return count == 1; }))
        << jobs << " jobs";
  }
}

TEST(ForEachInParallel, Item41_17_RethrowsWhatAnyThreadThrows) {
  for (const unsigned jobs : {1U, 4U}) {
    std::atomic<int> calls = 0;
    const auto run = [&] {
      ForEachInParallel(1'000'000, jobs, [&](uint64_t i) {
        ++calls;
        if (i >= 10) throw std::runtime_error("thrown");
      });
    };
    EXPECT_THROW(run(), std::runtime_error);
    EXPECT_LE(calls, 10 + static_cast<int>(jobs)) << "and begins no more";
  }
  EXPECT_THROW(ForEachInParallel(8, 8, [](uint64_t) { throw 41; }), int);
}

TEST(ForEachInParallel, Item41_17_WorksWithTheThreadsThatItGets) {
  constexpr int64_t kAllocations = 40;
  for (int64_t allowed = 1; allowed < kAllocations; ++allowed) {
    std::vector<std::atomic<int>> calls(100);
    const std::function<void(uint64_t)> work = [&](uint64_t i) { ++calls[i]; };
    {
      const FailingNew no_memory(allowed);
      ForEachInParallel(calls.size(), 10, work);
    }
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(),
                            [](const auto& count) { return count == 1; }))
        << allowed << " allocations";
  }
}

}  // namespace
}  // namespace ctxfs
