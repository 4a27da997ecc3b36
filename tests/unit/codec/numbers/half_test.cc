// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ctxfs {
namespace {

TEST(Half, EveryNumberIsExact) {
  for (uint32_t half = 0; half <= 0xFFFF; ++half) {
    const auto exponent = static_cast<int>(half >> 10 & 0x1FU);
    const auto fraction = static_cast<float>(half & 0x3FFU);
    if (exponent == 0x1F) continue;
    float expected = exponent == 0
                         ? std::ldexp(fraction, -24)
                         : std::ldexp(fraction + 1024.0F, exponent - 25);
    if ((half & 0x8000U) != 0) expected = -expected;
    EXPECT_EQ(HalfToFloatBits(static_cast<uint16_t>(half)),
              std::bit_cast<uint32_t>(expected))
        << half;
  }
}

TEST(Half, InfinitiesAndNansKeepTheirBits) {
  EXPECT_EQ(HalfToFloatBits(0x7C00), 0x7F800000U);
  EXPECT_EQ(HalfToFloatBits(0xFC00), 0xFF800000U);
  EXPECT_EQ(HalfToFloatBits(0x7E00), 0x7FC00000U);
  EXPECT_EQ(HalfToFloatBits(0xFD23), 0xFFA46000U);  // signalling
  EXPECT_EQ(HalfToFloatBits(0x7C01), 0x7F802000U);  // signalling
}

}  // namespace
}  // namespace ctxfs
