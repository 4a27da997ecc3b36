// SPDX-License-Identifier: Apache-2.0
#include "core/codec/widen.h"

#include <bit>
#include <cstdint>

#include "core/codec/half.h"

namespace ctxfs {
namespace {

float OfBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
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
      return Each<uint16_t>(from, to, HalfToFloat);
    case DType::kBf16:
      return Each<uint16_t>(from, to, OfBf16);
    case DType::kF32:
      return EachAs<uint32_t, float>(from, to);
    case DType::kF64:
      return EachAs<uint64_t, double>(from, to);
  }
}

}  // namespace ctxfs
