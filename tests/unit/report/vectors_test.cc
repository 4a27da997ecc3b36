// SPDX-License-Identifier: Apache-2.0
//
// Summaries of collections of vectors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/report/sections/principal_axes.h"
#include "core/report/sections/vector_summary.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

ArrayInfo Vectors(const std::vector<float>& values, uint64_t width) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return Array("v", DType::kF32, {values.size() / width, width}, bytes);
}

Json SummaryOf(const ArrayInfo& array, uint64_t most_bytes = UINT64_MAX) {
  BlockCache cache(0);
  const Result<Json> summary = VectorSummary(array, most_bytes, cache);
  EXPECT_TRUE(Ok(summary));
  return summary ? *summary : Json();
}

TEST(ProjectionTest, Item32_6_TheAxesOfAnEllipse) {
  // In the plane of (3,4,0)/5 and (-4,3,0)/5, ten and two long, around (1,1,9).
  std::vector<float> rows;
  constexpr size_t kCount = 360;
  for (size_t i = 0; i < kCount; ++i) {
    const double at = 2 * M_PI * static_cast<double>(i) / kCount;
    const double a = 10 * std::cos(at);
    const double b = 2 * std::sin(at);
    rows.push_back(static_cast<float>(1 + a * 0.6 - b * 0.8));
    rows.push_back(static_cast<float>(1 + a * 0.8 + b * 0.6));
    rows.push_back(9);
  }
  BlockCache cache(0);
  const auto found = ProjectRows(rows, 3, cache);
  ASSERT_TRUE(Ok(found));
  ASSERT_EQ(found->points.size(), kCount);
  EXPECT_NEAR(found->explained[0], 100.0 / 104, 1e-6);
  EXPECT_NEAR(found->explained[1], 4.0 / 104, 1e-6);
  for (size_t i = 0; i < kCount; ++i) {
    const double at = 2 * M_PI * static_cast<double>(i) / kCount;
    EXPECT_NEAR(found->points[i][0], 10 * std::cos(at), 1e-3) << i;
    // Its largest component is positive: the axis is (4,-3,0)/5.
    EXPECT_NEAR(found->points[i][1], -2 * std::sin(at), 1e-3) << i;
  }
  EXPECT_EQ(ProjectRows(rows, 3, cache)->points, found->points);
}

TEST(ProjectionTest, Item32_6_WhatCannotBeProjected) {
  BlockCache cache(0);
  const auto points = [&cache](const std::vector<float>& rows, size_t width) {
    const auto found = ProjectRows(rows, width, cache);
    EXPECT_TRUE(Ok(found));
    return found ? found->points.size() : SIZE_MAX;
  };
  EXPECT_EQ(points({}, 2), 0U);
  EXPECT_EQ(points({1, 2, 3, 4}, 2), 0U) << "two vectors";
  EXPECT_EQ(points({1, 2, 3, 4}, 1), 0U) << "one dimension";
  EXPECT_EQ(points({5, 6, 5, 6, 5, 6}, 2), 0U) << "all are equal";
  // On a line, all of the variance is along the first axis.
  const auto line = ProjectRows(std::vector<float>{0, 0, 1, 1, 2, 2}, 2, cache);
  ASSERT_TRUE(Ok(line));
  EXPECT_NEAR(line->explained[0], 1, 1e-12);
  EXPECT_NEAR(line->explained[1], 0, 1e-12);
  // The greatest floats do not overflow.
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_EQ(points({kMax, 0, -kMax, 0, 0, kMax}, 2), 3U);
}

TEST(ProjectionTest, AnInterruptEndsIt) {
  const std::vector<float> rows(4096, 1.5F);
  BlockCache cache(0);
  const InterruptAfter interrupt(0);
  const auto stopped = ProjectRows(rows, 4, ReadContext(cache).With(interrupt));
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kInterrupted);
}

TEST(VectorsTest, Item32_6_NormsAndDuplicates) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Json found = SummaryOf(
      Vectors({3, 4, 0, 0, 3, 4, 1, kNaN, 0, 0, 3, 4, 6, 8, INFINITY, 0}, 2));
  EXPECT_EQ(found["elements"], 8);
  EXPECT_EQ(found["read"], 8);
  EXPECT_EQ(found["infinite"], 2);
  EXPECT_EQ(found["zeros"], 2);
  EXPECT_EQ(found["min"], 0);
  EXPECT_EQ(found["max"], 10);
  EXPECT_DOUBLE_EQ(found["mean"].get<double>(), 25.0 / 6);
  EXPECT_EQ(found["bins"][0], 2);
  EXPECT_EQ(found["bins"][20], 3);
  EXPECT_EQ(found["bins"][39], 1);
  EXPECT_EQ(found["repeated"], 3);
  EXPECT_EQ(found["repeats"], Json::parse("[[0, 2], [1, 1]]"));
  EXPECT_EQ(found["projected"], 6) << "without NaN and infinities";
}

TEST(VectorsTest, NormsMayBeLargerThanAFloat) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const Json found =
      SummaryOf(Vectors({kMax, kMax, -kMax, kMax, 0, 0, kMax, -kMax}, 2));
  EXPECT_EQ(found["infinite"], 0);
  EXPECT_GT(found["max"].get<double>(), kMax);
  EXPECT_EQ(found["bins"][0], 1);
  EXPECT_EQ(found["bins"][39], 3);
  EXPECT_EQ(found["points"].size(), 4U);
  EXPECT_TRUE(found["points"][0][0].is_number());
}

TEST(VectorsTest, Item32_6_OfTooManyTwentyThousandAreRead) {
  constexpr uint64_t kCount = 22'000;
  std::vector<float> values;
  for (uint64_t i = 0; i < kCount; ++i) {
    values.push_back(static_cast<float>(i));
    values.push_back(i % 2 == 0 ? 1 : -1);
  }
  const ArrayInfo array = Vectors(values, 2);
  EXPECT_EQ(VectorBytes(array, kCount * 8), kCount * 8);
  EXPECT_EQ(VectorBytes(array, kCount * 8 - 1), kProjectedVectors * 8);
  const Json some = SummaryOf(array, kCount * 8 - 1);
  EXPECT_EQ(some["read"], kProjectedVectors);
  EXPECT_EQ(some["repeated"], 0);
  EXPECT_LT(some["min"], 1.5);
  EXPECT_GT(some["max"], kCount - 5);
  const Json all = SummaryOf(array);
  EXPECT_EQ(all["read"], kCount);
  EXPECT_EQ(all["points"].size(), kProjectedVectors);
  EXPECT_EQ(all["points"], some["points"]) << "the same of them";
}

TEST(VectorsTest, WhatAreVectors) {
  const auto is = [](DType dtype, std::vector<uint64_t> shape) {
    return IsVectors(Array("v", dtype, std::move(shape), ""));
  };
  EXPECT_TRUE(is(DType::kF16, {1, 1}));
  EXPECT_TRUE(is(DType::kI8, {10, 4}));
  EXPECT_FALSE(is(DType::kF32, {10}));
  EXPECT_FALSE(is(DType::kF32, {10, 0}));
  EXPECT_FALSE(is(DType::kF32, {0, 10}));
  EXPECT_FALSE(is(DType::kF32, {1, 2, 3}));
  EXPECT_FALSE(is(DType::kI64, {10, 4})) << "float64 has not all of them";
  EXPECT_FALSE(is(DType::kF32, {10, uint64_t{1} << 40}));
}

}  // namespace
}  // namespace ctxfs
