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
      {DType::kBool, "bool", 1}, {DType::kI8, "i8", 1},
      {DType::kU8, "u8", 1},     {DType::kI16, "i16", 2},
      {DType::kU16, "u16", 2},   {DType::kI32, "i32", 4},
      {DType::kU32, "u32", 4},   {DType::kI64, "i64", 8},
      {DType::kU64, "u64", 8},   {DType::kF16, "f16", 2},
      {DType::kBf16, "bf16", 2}, {DType::kF32, "f32", 4},
      {DType::kF64, "f64", 8},
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

}  // namespace
}  // namespace ctxfs
