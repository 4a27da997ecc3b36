// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace ctxfs {

/// Returns the bits of the float32 that equals a float16. A NaN keeps its sign
/// and payload: this uses integers, because the processors' conversion makes
/// signalling NaNs quiet.
constexpr uint32_t HalfToFloatBits(uint16_t half) {
  constexpr uint32_t kInfinity = 0x7F800000;
  constexpr uint32_t kBiasStep = 127 - 15;
  const uint32_t sign = uint32_t{half & 0x8000U} << 16;
  const uint32_t exponent = half >> 10 & 0x1FU;
  const uint32_t fraction = half & 0x3FFU;
  if (exponent == 0x1F) return sign | kInfinity | fraction << 13;
  if (exponent != 0)
    return sign | (exponent + kBiasStep) << 23 | fraction << 13;
  if (fraction == 0) return sign;
  // Subnormal: its highest set bit becomes the implicit bit of the float32.
  const auto shift = static_cast<uint32_t>(std::countl_zero(fraction)) - 21;
  return sign | (kBiasStep + 1 - shift) << 23 |
         (fraction << shift & 0x3FFU) << 13;
}

constexpr float HalfToFloat(uint16_t half) {
  return std::bit_cast<float>(HalfToFloatBits(half));
}

}  // namespace ctxfs
