// SPDX-License-Identifier: Apache-2.0
#include "core/views/arrays/converted.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/views/arrays/elements.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

std::vector<float> ValuesOf(const ArrayInfo& array) {
  BlockCache cache(1 << 20);
  const Result<Content> content = OpenElements(array, cache);
  EXPECT_TRUE(Ok(content));
  std::vector<float> values(content->size() / sizeof(float));
  EXPECT_TRUE(Ok(
      ReadInto(*content, 0, std::as_writable_bytes(std::span(values)), cache)));
  return values;
}

HubArray Heads(uint64_t count) { return {.name = "", .heads = count}; }

TEST(Converted, Item43_3_HalvesOfHeadsAreInterleaved) {
  ArrayInfo array = ArrayOf<float>(
      DType::kF32, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  array.shape = {8, 2};  // 2 heads of 4 rows
  const auto made = Converted(array, Heads(2));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->shape, array.shape);
  EXPECT_EQ(ValuesOf(*made), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9,
                                                 12, 13, 10, 11, 14, 15}));
  // A bias.
  array.shape = {16};
  EXPECT_EQ(ValuesOf(*Converted(array, Heads(4))),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14,
                                13, 15}));
}

TEST(Converted, Item43_3_RowsThatAreNoHeadsAreRefused) {
  ArrayInfo array = ArrayOf<float>(DType::kF32, {0, 1, 2, 3, 4, 5});
  array.shape = {6};
  EXPECT_FALSE(Converted(array, Heads(4)));
  EXPECT_FALSE(Converted(array, Heads(2)));  // of three rows each
  EXPECT_FALSE(Converted(array, Heads(UINT64_MAX)));
  array.shape = {};
  EXPECT_FALSE(Converted(array, Heads(1)));
}

TEST(Converted, Item43_3_ANumberIsAddedAsFloat32) {
  const ArrayInfo array = ArrayOf<float>(DType::kF32, {0.5F, -1.25F});
  EXPECT_EQ(ValuesOf(*Converted(array, {.name = "", .added = 1})),
            (std::vector<float>{1.5F, -0.25F}));
  // 1 + 2^-11 lies between two float16: the even one is 1.
  const ArrayInfo half = ArrayOf<uint16_t>(DType::kF16, {0x1000, 0x3C00});
  const auto sum = Converted(half, {.name = "", .added = 1});
  EXPECT_EQ(sum->dtype, DType::kF32);
  EXPECT_EQ(ValuesOf(*sum), (std::vector<float>{1, 2}));
  EXPECT_FALSE(
      Converted(ArrayOf<int32_t>(DType::kI32, {1}), {.name = "", .added = 1}));
}

}  // namespace
}  // namespace ctxfs
