// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/report/sections/array_statistics.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

ArrayStatistics Measure(const ArrayInfo& array, bool exact = true) {
  BlockCache cache(0);
  const Result<ArrayStatistics> measured = StatisticsOf(array, exact, cache);
  EXPECT_TRUE(Ok(measured));
  return measured ? *measured : ArrayStatistics{};
}

TEST(StatisticsTest, KnownNumbers) {
  const auto found = Measure(ArrayOf<float>(DType::kF32, {1, 2, 3, 4, 0, -4}));
  EXPECT_EQ(found.elements, 6U);
  EXPECT_EQ(found.read, 6U);
  EXPECT_EQ(found.min, -4);
  EXPECT_EQ(found.max, 4);
  EXPECT_EQ(found.mean, 1);
  // Squares of 0, 1, 2, 3, -1, -5 are 40 together.
  EXPECT_DOUBLE_EQ(found.deviation, std::sqrt(40.0 / 6));
  EXPECT_EQ(found.zeros, 1U);
  EXPECT_EQ(found.nans + found.infinities, 0U);
  EXPECT_EQ(found.low, -4);
  EXPECT_EQ(found.high, 4);
  ASSERT_EQ(found.bins.size(), 40U);
  // A bin is a fifth wide: -4 is in the first, 0 in the 21st, 4 in the last.
  EXPECT_EQ(found.bins[0], 1U);
  EXPECT_EQ(found.bins[20], 1U);
  EXPECT_EQ(found.bins[39], 1U);
  EXPECT_EQ(std::accumulate(found.bins.begin(), found.bins.end(), 0U), 6U);
}

TEST(StatisticsTest, WhatIsNotANumberIsCountedAlone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto found = Measure(ArrayOf<float>(
      DType::kF32, {NAN, 5, -kInfinity, 7, NAN, kInfinity, -0.0F}));
  EXPECT_EQ(found.nans, 2U);
  EXPECT_EQ(found.infinities, 2U);
  EXPECT_EQ(found.zeros, 1U);
  EXPECT_EQ(found.min, 0);
  EXPECT_EQ(found.max, 7);
  EXPECT_EQ(found.mean, 4);
}

TEST(StatisticsTest, NoNumbersHaveNoStatistics) {
  for (const auto& values : {std::vector<float>{}, std::vector<float>{NAN}}) {
    const auto found = Measure(ArrayOf<float>(DType::kF32, values));
    EXPECT_EQ(found.elements, values.size());
    EXPECT_TRUE(std::isnan(found.min) && std::isnan(found.mean));
    EXPECT_TRUE(found.bins.empty());
  }
}

TEST(StatisticsTest, SmallIntegersHaveABinEach) {
  const auto found = Measure(ArrayOf<int8_t>(DType::kI8, {-2, 1, 1, -2, 1}));
  EXPECT_EQ(found.bins, (std::vector<uint64_t>{2, 0, 0, 3}));
  EXPECT_EQ(found.low, -2.5);
  EXPECT_EQ(found.high, 1.5);
  const auto bools = Measure(ArrayOf<uint8_t>(DType::kBool, {1, 0, 0, 1, 1}));
  EXPECT_EQ(bools.bins, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(bools.mean, 0.6);
}

TEST(StatisticsTest, OneValueIsOneBin) {
  const auto found = Measure(ArrayOf<double>(DType::kF64, {2.5, 2.5}));
  EXPECT_EQ(found.bins, std::vector<uint64_t>{2});
  EXPECT_EQ(found.deviation, 0);
}

TEST(StatisticsTest, EveryDtypeOfWholeBytesIsRead) {
  EXPECT_EQ(Measure(ArrayOf<uint8_t>(DType::kU8, {200, 100})).mean, 150);
  EXPECT_EQ(Measure(ArrayOf<uint16_t>(DType::kU16, {65535, 1})).max, 65535);
  EXPECT_EQ(Measure(ArrayOf<int16_t>(DType::kI16, {-32768, 0})).min, -32768);
  EXPECT_EQ(Measure(ArrayOf<uint32_t>(DType::kU32, {4294967295})).max,
            4294967295.0);
  EXPECT_EQ(Measure(ArrayOf<int32_t>(DType::kI32, {-7})).min, -7);
  EXPECT_EQ(Measure(ArrayOf<uint64_t>(DType::kU64, {UINT64_MAX})).max,
            18446744073709551616.0);
  EXPECT_EQ(Measure(ArrayOf<int64_t>(DType::kI64, {INT64_MIN})).min,
            -9223372036854775808.0);
  EXPECT_EQ(Measure(ArrayOf<uint16_t>(DType::kF16, {0x3C00, 0xC000})).min, -2);
  EXPECT_EQ(Measure(ArrayOf<uint16_t>(DType::kBf16, {0x3F80, 0x4040})).mean, 2);
  EXPECT_EQ(Measure(ArrayOf<uint8_t>(DType::kF8E4M3, {0x38, 0x7F})).nans, 1U);
  for (size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(HasStatistics(dtype), !IsComplex(dtype) && DTypeBits(dtype) >= 8);
  }
}

TEST(StatisticsTest, Item43_10_EvenIntegersHaveEvenBins) {
  for (const int32_t values : {40, 41, 57, 97, 255, 256, 1000, 4099}) {
    std::vector<int32_t> ramp(static_cast<size_t>(values));
    std::iota(ramp.begin(), ramp.end(), -20);
    const ArrayStatistics found = Measure(ArrayOf(DType::kI32, ramp));
    ASSERT_LE(found.bins.size(), 40U);
    ASSERT_GE(found.bins.size(), 14U) << values;
    EXPECT_EQ(found.low, -20.5);
    const double width =
        (found.high - found.low) / static_cast<double>(found.bins.size());
    EXPECT_EQ(width, std::floor(width)) << values;
    for (size_t i = 0; i + 1 < found.bins.size(); ++i) {
      EXPECT_EQ(found.bins[i], static_cast<uint64_t>(width)) << values;
    }
    EXPECT_GE(found.bins.back() * 3, found.bins.front()) << values;
  }
}

TEST(StatisticsTest, Item43_10_IntegersInStepsHaveEvenBins) {
  for (const int64_t step : {3, 10, 1000, 10'000'000}) {
    std::vector<int64_t> ramp;
    for (int64_t i = 0; i < 100; ++i) ramp.push_back(i * step - 7);
    const ArrayStatistics found = Measure(ArrayOf(DType::kI64, ramp));
    EXPECT_EQ(found.bins, std::vector<uint64_t>(25, 4)) << step;
    EXPECT_EQ(found.high - found.low, static_cast<double>(100 * step));
  }
  const auto mask = Measure(ArrayOf<uint8_t>(DType::kU8, {0, 255, 255}));
  EXPECT_EQ(mask.bins, (std::vector<uint64_t>{1, 2}));
}

TEST(StatisticsTest, Item43_10_LargeIntegersHaveExactExtremes) {
  const auto of = [](const ArrayInfo& array) {
    const ArrayStatistics found = Measure(array);
    return std::pair(found.exact_min, found.exact_max);
  };
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(of(ArrayOf<int64_t>(
                DType::kI64, {1'700'000'000'123'456'789, -1, INT64_MIN + 1})),
            Pair("-9223372036854775807", "1700000000123456789"));
  EXPECT_EQ(of(ArrayOf<uint64_t>(DType::kU64, {UINT64_MAX, UINT64_MAX - 1})),
            Pair("18446744073709551614", "18446744073709551615"));
  EXPECT_EQ(of(ArrayOf<int64_t>(DType::kI64, {})), Pair("", ""));
  EXPECT_EQ(of(ArrayOf<int32_t>(DType::kI32, {7})), Pair("", ""));
}

TEST(StatisticsTest, LargestDoublesDoNotOverflow) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const auto found =
      Measure(ArrayOf<double>(DType::kF64, {kMax, kMax, -kMax, 0}));
  EXPECT_EQ(found.mean, kMax / 4);
  ASSERT_EQ(found.bins.size(), 40U);
  EXPECT_EQ(found.bins[0], 1U);
  EXPECT_EQ(found.bins[20], 1U);
  EXPECT_EQ(found.bins[39], 2U);
}

std::vector<uint32_t> Ramp(uint32_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(StatisticsTest, ASampleIsSpreadOverTheArray) {
  const uint32_t count = 1'000'000;
  const ArrayInfo array = ArrayOf(DType::kU32, Ramp(count));
  const auto sample = Measure(array, /*exact=*/false);
  EXPECT_EQ(sample.elements, count);
  EXPECT_EQ(sample.read, kSampledElements);
  EXPECT_EQ(sample.min, 0) << "the first element is in it";
  EXPECT_EQ(sample.max, count - 1) << "and the last";
  EXPECT_NEAR(sample.mean, (count - 1) / 2.0, 1);
  EXPECT_EQ(std::accumulate(sample.bins.begin(), sample.bins.end(), 0U),
            kSampledElements);
  EXPECT_EQ(Measure(array, false).bins, sample.bins) << "the same each time";
}

TEST(StatisticsTest, AllOfALargeArrayIsReadTwice) {
  // More than is kept for the second look.
  const uint32_t count = (1 << 20) + 3;
  const auto all = Measure(ArrayOf(DType::kU32, Ramp(count)));
  EXPECT_EQ(all.read, count);
  EXPECT_EQ(all.mean, (count - 1) / 2.0);
  EXPECT_NEAR(all.deviation,
              std::sqrt((static_cast<double>(count) * count - 1) / 12), 1e-6);
  EXPECT_EQ(std::accumulate(all.bins.begin(), all.bins.end(), 0U), count);
}

TEST(StatisticsTest, WhatCannotBeReadFails) {
  BlockCache cache(0);
  EXPECT_TRUE(
      Fails(StatisticsOf(BrokenArray("b", DType::kF32, {2}), true, cache),
            Code::kCorrupt));
  EXPECT_TRUE(
      Fails(StatisticsOf(Array("short", DType::kF32, {2}, "abcd"), true, cache),
            Code::kCorrupt));
}

}  // namespace
}  // namespace ctxfs
