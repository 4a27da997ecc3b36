// SPDX-License-Identifier: Apache-2.0
#include "core/codec/widen.h"

#include <bit>
#include <cstdint>

namespace ctxfs {
namespace {

float OfBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// IEEE binary16; NaNs keep their payload.
float OfF16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t exponent = bits >> 10 & 0x1FU;
  const uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <typename T, typename Convert>
void Each(Bytes from, std::span<float> to, const Convert& convert) {
  const std::byte* at = from.data();
  for (float& value : to) {
    value = convert(LoadLe<T>(at));
    at += sizeof(T);
  }
}

template <typename Unsigned, typename T>
void EachAs(Bytes from, std::span<float> to) {
  Each<Unsigned>(from, to, [](Unsigned bits) {
    return static_cast<float>(std::bit_cast<T>(bits));
  });
}

}  // namespace

void WidenToFloat(DType dtype, Bytes from, std::span<float> to) {
  switch (dtype) {
    case DType::kBool:
      return Each<uint8_t>(from, to,
                           [](uint8_t b) { return b != 0 ? 1.0F : 0.0F; });
    case DType::kI8:
      return EachAs<uint8_t, int8_t>(from, to);
    case DType::kU8:
      return EachAs<uint8_t, uint8_t>(from, to);
    case DType::kI16:
      return EachAs<uint16_t, int16_t>(from, to);
    case DType::kU16:
      return EachAs<uint16_t, uint16_t>(from, to);
    case DType::kI32:
      return EachAs<uint32_t, int32_t>(from, to);
    case DType::kU32:
      return EachAs<uint32_t, uint32_t>(from, to);
    case DType::kI64:
      return EachAs<uint64_t, int64_t>(from, to);
    case DType::kU64:
      return EachAs<uint64_t, uint64_t>(from, to);
    case DType::kF16:
      return Each<uint16_t>(from, to, OfF16);
    case DType::kBf16:
      return Each<uint16_t>(from, to, OfBf16);
    case DType::kF32:
      return EachAs<uint32_t, float>(from, to);
    case DType::kF64:
      return EachAs<uint64_t, double>(from, to);
  }
}

}  // namespace ctxfs
