// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/widen.h"

#include <array>
#include <bit>
#include <cstdint>

#include "core/codec/numbers/half.h"

namespace ctxfs {
namespace {

float OfBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

constexpr float kNan = std::bit_cast<float>(0x7FC00000U);

constexpr float PowerOfTwo(int exponent) {
  float value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}

/// The value of an 8-bit float: sign, exponent, `mantissa_bits` of mantissa.
constexpr float SmallFloat(unsigned code, unsigned mantissa_bits, int bias) {
  const unsigned steps = 1U << mantissa_bits;
  const unsigned exponent = (code & 0x7FU) >> mantissa_bits;
  const auto mantissa = static_cast<float>(code & (steps - 1));
  const float unit = 1.0F / static_cast<float>(steps);
  const float size = exponent == 0
                         ? mantissa * unit * PowerOfTwo(1 - bias)
                         : (1 + mantissa * unit) *
                               PowerOfTwo(static_cast<int>(exponent) - bias);
  return (code & 0x80U) != 0 ? -size : size;
}

/// The value of an 8-bit float of `dtype` (docs/formats/safetensors.md, section
/// 3).
constexpr float Float8(DType dtype, unsigned code) {
  const unsigned size = code & 0x7FU;
  switch (dtype) {
    case DType::kF8E4M3:
      return size == 0x7F ? kNan : SmallFloat(code, 3, 7);
    case DType::kF8E5M2:
      // The upper half of a float16, whose lower mantissa bits are 0.
      return size > 0x7C ? kNan : HalfToFloat(static_cast<uint16_t>(code << 8));
    case DType::kF8E4M3Fnuz:
      return code == 0x80 ? kNan : SmallFloat(code, 3, 8);
    case DType::kF8E5M2Fnuz:
      return code == 0x80 ? kNan : SmallFloat(code, 2, 16);
    default:  // f8_e8m0
      return code == 0xFF ? kNan : PowerOfTwo(static_cast<int>(code) - 127);
  }
}

template <DType kDType>
void EachFloat8(Bytes from, std::span<float> to) {
  static constexpr auto kValues = [] {
    std::array<float, 256> values{};
    for (unsigned i = 0; i < values.size(); ++i) values[i] = Float8(kDType, i);
    return values;
  }();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = kValues[std::to_integer<uint8_t>(from[i])];
  }
}

template <typename T, typename Convert>
void Each(Bytes from, std::span<float> to, const Convert& convert) {
  const std::byte* at = from.data();
  for (float& value : to) {
    value = convert(LoadLe<T>(at));
    at += sizeof(T);
  }
}

/// Implements WidenToFloat for the types that VisitNumber does not handle.
void WidenOther(DType dtype, Bytes from, std::span<float> to) {
  switch (dtype) {
    case DType::kBool:
      return Each<uint8_t>(from, to,
                           [](uint8_t b) { return b != 0 ? 1.0F : 0.0F; });
    case DType::kF16:
      return Each<uint16_t>(from, to, HalfToFloat);
    case DType::kBf16:
      return Each<uint16_t>(from, to, OfBf16);
    case DType::kF8E4M3:
      return EachFloat8<DType::kF8E4M3>(from, to);
    case DType::kF8E5M2:
      return EachFloat8<DType::kF8E5M2>(from, to);
    case DType::kF8E4M3Fnuz:
      return EachFloat8<DType::kF8E4M3Fnuz>(from, to);
    case DType::kF8E5M2Fnuz:
      return EachFloat8<DType::kF8E5M2Fnuz>(from, to);
    case DType::kF8E8M0:
      return EachFloat8<DType::kF8E8M0>(from, to);
    default:
      return;  // not supported (widen.h)
  }
}

}  // namespace

void WidenToFloat(DType dtype, Bytes from, std::span<float> to) {
  VisitNumber(
      dtype,
      [&](auto zero) {
        using T = decltype(zero);
        Each<T>(from, to, [](T value) { return static_cast<float>(value); });
      },
      [&] { WidenOther(dtype, from, to); });
}

}  // namespace ctxfs
