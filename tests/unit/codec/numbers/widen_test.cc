// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/widen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ctxfs {
namespace {

float One(DType dtype, const std::string& bytes) {
  std::vector<float> to(1);
  WidenToFloat(dtype, AsBytes(bytes), to);
  return to[0];
}

std::string Two(uint16_t bits) {
  return {static_cast<char>(bits & 0xFF), static_cast<char>(bits >> 8)};
}

TEST(Widen, HalfPrecision) {
  EXPECT_EQ(One(DType::kF16, Two(0x3C00)), 1.0F);
  EXPECT_EQ(One(DType::kF16, Two(0xC000)), -2.0F);
  EXPECT_EQ(One(DType::kF16, Two(0x7BFF)), 65504.0F);
  EXPECT_EQ(One(DType::kF16, Two(0x0001)), 0x1p-24F);
  EXPECT_EQ(One(DType::kF16, Two(0x83FF)), -1023 * 0x1p-24F);
  EXPECT_EQ(std::bit_cast<uint32_t>(One(DType::kF16, Two(0x8000))),
            0x80000000U);
  EXPECT_EQ(One(DType::kF16, Two(0xFC00)),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::bit_cast<uint32_t>(One(DType::kF16, Two(0x7E01))),
            0x7FC02000U);
}

TEST(Widen, BrainFloat) {
  EXPECT_EQ(One(DType::kBf16, Two(0x3F80)), 1.0F);
  EXPECT_EQ(One(DType::kBf16, Two(0xC020)), -2.5F);
  EXPECT_TRUE(std::isnan(One(DType::kBf16, Two(0x7FC0))));
}

TEST(Widen, Integers) {
  EXPECT_EQ(One(DType::kI8, "\x80"), -128.0F);
  EXPECT_EQ(One(DType::kU8, "\x80"), 128.0F);
  EXPECT_EQ(One(DType::kI16, Two(0xFFFF)), -1.0F);
  EXPECT_EQ(One(DType::kU16, Two(0xFFFF)), 65535.0F);
  EXPECT_EQ(One(DType::kI32, std::string(4, '\xFF')), -1.0F);
  EXPECT_EQ(One(DType::kU32, std::string(4, '\xFF')), 0x1p32F);
  EXPECT_EQ(One(DType::kI64, std::string(8, '\xFF')), -1.0F);
  EXPECT_EQ(One(DType::kU64, std::string(8, '\xFF')), 0x1p64F);
  EXPECT_EQ(One(DType::kBool, "\x02"), 1.0F);
}

TEST(Widen, WiderFloats) {
  EXPECT_EQ(One(DType::kF32, std::string("\0\0\x80\x3F", 4)), 1.0F);
  EXPECT_EQ(One(DType::kF64, std::string("\0\0\0\0\0\0\xF0\x3F", 8)), 1.0F);
}

uint32_t BitsOf(DType dtype, char code) {
  return std::bit_cast<uint32_t>(One(dtype, std::string(1, code)));
}

// docs/formats/safetensors.md, section 3; all codes are in golden/safetensors.
TEST(Widen, FloatsOfEightBits) {
  EXPECT_EQ(One(DType::kF8E4M3, "\x7E"), 448.0F);
  EXPECT_EQ(One(DType::kF8E4M3, "\x01"), 0x1p-9F);
  EXPECT_EQ(BitsOf(DType::kF8E4M3, '\x80'), 0x80000000U);
  EXPECT_EQ(BitsOf(DType::kF8E4M3, '\x7F'), 0x7FC00000U);
  EXPECT_EQ(BitsOf(DType::kF8E4M3, '\xFF'), 0x7FC00000U);
  EXPECT_EQ(One(DType::kF8E5M2, "\xFC"),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(BitsOf(DType::kF8E5M2, '\xFD'), 0x7FC00000U);
  EXPECT_EQ(One(DType::kF8E5M2, "\x01"), 0x1p-16F);
  EXPECT_EQ(One(DType::kF8E4M3Fnuz, "\x7F"), 240.0F);
  EXPECT_EQ(BitsOf(DType::kF8E4M3Fnuz, '\x80'), 0x7FC00000U);
  EXPECT_EQ(One(DType::kF8E5M2Fnuz, "\x7F"), 57344.0F);
  EXPECT_EQ(BitsOf(DType::kF8E5M2Fnuz, '\x80'), 0x7FC00000U);
  EXPECT_EQ(BitsOf(DType::kF8E8M0, '\0'), 0x00400000U);  // 2^-127
  EXPECT_EQ(One(DType::kF8E8M0, "\xFE"), 0x1p127F);
  EXPECT_EQ(BitsOf(DType::kF8E8M0, '\xFF'), 0x7FC00000U);
}

}  // namespace
}  // namespace ctxfs
