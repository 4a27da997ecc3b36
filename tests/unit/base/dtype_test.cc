// SPDX-License-Identifier: Apache-2.0
#include "core/base/dtype.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

namespace ctxfs {
namespace {

TEST(DType, HasANameAndASize) {
  struct Case {
    DType dtype;
    std::string_view name;
    size_t size;
  };
  constexpr Case kCases[] = {
      {DType::kBool, "bool", 1},
      {DType::kI8, "i8", 1},
      {DType::kU8, "u8", 1},
      {DType::kI16, "i16", 2},
      {DType::kU16, "u16", 2},
      {DType::kI32, "i32", 4},
      {DType::kU32, "u32", 4},
      {DType::kI64, "i64", 8},
      {DType::kU64, "u64", 8},
      {DType::kF16, "f16", 2},
      {DType::kBf16, "bf16", 2},
      {DType::kF32, "f32", 4},
      {DType::kF64, "f64", 8},
      {DType::kC64, "c64", 8},
      {DType::kF8E4M3, "f8_e4m3", 1},
      {DType::kF8E5M2, "f8_e5m2", 1},
      {DType::kF8E4M3Fnuz, "f8_e4m3fnuz", 1},
      {DType::kF8E5M2Fnuz, "f8_e5m2fnuz", 1},
      {DType::kF8E8M0, "f8_e8m0", 1},
      {DType::kF6E2M3, "f6_e2m3", 1},
      {DType::kF6E3M2, "f6_e3m2", 1},
      {DType::kF4, "f4", 1},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(DTypeName(c.dtype), c.name);
    EXPECT_EQ(DTypeSize(c.dtype), c.size) << c.name;
    EXPECT_EQ(DTypeOf(c.name), c.dtype) << c.name;
  }
  for (const std::string_view name : {"", "F32", "f3", "f32 ", "float32"}) {
    EXPECT_EQ(DTypeOf(name), std::nullopt) << name;
  }
}

TEST(DType, PackedTypesHaveFewerBitsThanAByte) {
  EXPECT_EQ(DTypeBits(DType::kF4), 4U);
  EXPECT_EQ(DTypeBits(DType::kF6E2M3), 6U);
  EXPECT_EQ(DTypeBits(DType::kF6E3M2), 6U);
  EXPECT_EQ(DTypeBits(DType::kF8E8M0), 8U);
  EXPECT_EQ(DTypeBits(DType::kC64), 64U);
}

}  // namespace
}  // namespace ctxfs
