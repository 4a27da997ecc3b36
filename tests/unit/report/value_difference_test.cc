// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/value_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

ArrayInfo FloatArray(const std::vector<float>& values) {
  return ArrayOf(DType::kF32, values);
}

ValueDifference Compare(const ArrayInfo& a, const ArrayInfo& b) {
  BlockCache cache(0);
  const Result<ValueDifference> found = DifferenceOf(a, b, cache, cache);
  EXPECT_TRUE(Ok(found));
  return found ? *found : ValueDifference{};
}

TEST(ValueDifferenceTest, KnownNumbers) {
  const auto found =
      Compare(FloatArray({3, 0, -2, 8}), FloatArray({3, 0.5, -3, 8}));
  EXPECT_EQ(found.elements, 4U);
  EXPECT_EQ(found.different, 2U);
  EXPECT_EQ(found.unlike, 0U);
  EXPECT_EQ(found.max_absolute, 1);
  EXPECT_EQ(found.max_relative, 0.5);  // of -2: what was 0 has none
  EXPECT_EQ(found.mean_absolute, 0.375);
  // 9 + 6 + 64 over the roots of 9 + 4 + 64 and of 9 + 0.25 + 9 + 64.
  EXPECT_DOUBLE_EQ(found.cosine, 79 / std::sqrt(77.0 * 82.25));
}

TEST(ValueDifferenceTest, DifferencesAreCountedByDecade) {
  const auto found =
      Compare(ArrayOf<double>(DType::kF64, {0, 0, 0, 0, 0, 0}),
              ArrayOf<double>(DType::kF64, {1e-11, 2e-10, 0.05, 0.5, 1e30, 0}));
  EXPECT_EQ(found.bins[0], 1U);   // below 1e-10
  EXPECT_EQ(found.bins[1], 1U);   // below 1e-9
  EXPECT_EQ(found.bins[9], 1U);   // below 0.1
  EXPECT_EQ(found.bins[10], 1U);  // below 1
  EXPECT_EQ(found.bins[15], 1U);  // the rest
  EXPECT_EQ(std::accumulate(found.bins.begin(), found.bins.end(), 0U), 5U);
  EXPECT_EQ(found.cosine, 0);
}

TEST(ValueDifferenceTest, WhatIsNotANumberEqualsItsLike) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> odd = {NAN, kInfinity, -kInfinity, 1};
  const auto same = Compare(FloatArray(odd), FloatArray(odd));
  EXPECT_EQ(same.different, 0U);
  const auto found =
      Compare(FloatArray(odd), FloatArray({0, -kInfinity, -kInfinity, NAN}));
  EXPECT_EQ(found.different, 3U);
  EXPECT_EQ(found.unlike, 3U);
  EXPECT_EQ(found.max_absolute, 0);
}

TEST(ValueDifferenceTest, TypesMayDiffer) {
  // 1.0 and -2.0 in bfloat16.
  const auto half = ArrayOf<uint16_t>(DType::kBf16, {0x3F80, 0xC000});
  const auto found = Compare(FloatArray({1, -2}), half);
  EXPECT_EQ(found.different, 0U);
  EXPECT_EQ(found.cosine, 1);
  const auto bytes = Compare(half, ArrayOf<int8_t>(DType::kI8, {1, -3}));
  EXPECT_EQ(bytes.max_absolute, 1);
}

TEST(ValueDifferenceTest, ManyWindowsAndNone) {
  std::vector<float> a(200'001, 1);
  std::vector<float> b = a;
  b.back() = 2;
  EXPECT_EQ(Compare(FloatArray(a), FloatArray(b)).different, 1U);
  const auto nothing = Compare(FloatArray({}), FloatArray({}));
  EXPECT_EQ(nothing.elements, 0U);
  EXPECT_EQ(nothing.cosine, 1);
  EXPECT_EQ(Compare(FloatArray({0, 0}), FloatArray({0, 0})).cosine, 1);
}

TEST(ValueDifferenceTest, ErrorsAndInterruptsAreReturned) {
  BlockCache cache(0);
  const Result<ValueDifference> broken = DifferenceOf(
      FloatArray({1}), BrokenArray("b", DType::kF32, {1}), cache, cache);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().offset, 7U);
  class Given final : public Interrupt {
   public:
    bool interrupted() const override { return true; }
  } const given;
  const ReadContext interrupted(cache, given);
  const Result<ValueDifference> stopped =
      DifferenceOf(FloatArray({1}), FloatArray({1}), interrupted, cache);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kInterrupted);
}

}  // namespace
}  // namespace ctxfs
