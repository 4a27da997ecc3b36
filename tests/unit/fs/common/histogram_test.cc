// SPDX-License-Identifier: Apache-2.0
#include "fs/common/histogram.h"

#include <gtest/gtest.h>

namespace ctxfs {
namespace {

using Lines = std::vector<std::string>;

TEST(BarChart, HasABarForEachCount) {
  EXPECT_EQ(BarChart({0, 4, 8}, 10, 1, true), Lines{" ▄█"});
  EXPECT_EQ(BarChart({8, 4, 0}, 10, 2, true), (Lines{"█  ", "██ "}));
}

TEST(BarChart, AddsNeighboursIfThereAreMore) {
  EXPECT_EQ(BarChart({1, 1, 2, 2, 4}, 3, 1, true), Lines{"▄██"});
}

TEST(BarChart, ShowsEveryCountThatIsNotZero) {
  EXPECT_EQ(BarChart({1, 1'000'000, 0}, 3, 1, true), Lines{"▁█ "});
  EXPECT_EQ(BarChart({UINT64_MAX / 2, UINT64_MAX}, 2, 1, false), Lines{":#"});
}

TEST(BarChart, OfNothingIsEmpty) {
  EXPECT_TRUE(BarChart({}, 10, 2, true).empty());
  EXPECT_TRUE(BarChart({1}, 0, 2, true).empty());
  EXPECT_EQ(BarChart({0, 0}, 5, 1, true), Lines{"  "});
}

}  // namespace
}  // namespace ctxfs
