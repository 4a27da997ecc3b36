// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -ffp-contract=off, because a product and a sum must be rounded
// separately.
#include "core/codec/numbers/convert.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/codec/numbers/half.h"

namespace ctxfs {
namespace {

constexpr uint32_t kQuiet = 0x00400000;
/// The NaN that amd64 computes for numbers whose product or sum is undefined,
/// such as 0 * infinity. Other processors do not set its sign.
constexpr uint32_t kNanOfNumbers = 0xFFC00000;

/// Returns the bits of number * scale + min on amd64, where the first NaN of a
/// sum or product becomes the result. Returns an integer, because a compiler
/// may change the sign of a NaN.
uint32_t ScaledBits(float number, float scale, float min) {
  const float product = number * scale;
  const float sum = product + min;
  if (!std::isnan(sum)) return std::bit_cast<uint32_t>(sum);
  if (std::isnan(scale)) return std::bit_cast<uint32_t>(scale) | kQuiet;
  if (std::isnan(product) || !std::isnan(min)) return kNanOfNumbers;
  return std::bit_cast<uint32_t>(min) | kQuiet;
}

}  // namespace

void HalvesToFloatsScalar(Bytes in, MutableBytes out) {
  for (size_t i = 0; i < in.size() / 2; ++i) {
    const auto half = LoadLe<uint16_t>(in.data() + 2 * i);
    StoreLe(HalfToFloatBits(half), out.data() + 4 * i);
  }
}

void BytesToFloatsScalar(Bytes in, float scale, float min, MutableBytes out) {
  for (size_t i = 0; i < in.size(); ++i) {
    const uint32_t bits = ScaledBits(static_cast<float>(in[i]), scale, min);
    StoreLe(bits, out.data() + 4 * i);
  }
}

bool UnpackPlane(Bytes codes, unsigned bit, unsigned width, const uint8_t* dict,
                 unsigned dict_size, unsigned plane, MutableBytes out) {
  const size_t count = out.size() / 4;
  if (count == 0) return true;  // `out` may be null
  const unsigned mask = (1U << width) - 1;
  std::byte* to = out.data() + plane;
  unsigned largest = 0;
  size_t i = 0;
  // Eight codes take `width` bytes. A load of 8 bytes contains all of them if
  // it is within `codes` and they start early enough in its first byte.
  if (width * 8 + bit <= 64) {
    const std::byte* from = codes.data();
    for (; i + 8 <= count && InBounds(i / 8 * width, 8, codes.size());
         i += 8, from += width) {
      uint64_t bits = 0;
      std::memcpy(&bits, from, sizeof(bits));
      if constexpr (std::endian::native == std::endian::little) {
        bits = __builtin_bswap64(bits);
      }
      bits <<= bit;
      for (unsigned k = 0; k < 8; ++k) {
        const auto code = static_cast<unsigned>(bits >> (64 - width));
        bits <<= width;
        largest = code > largest ? code : largest;
        to[4 * (i + k)] = std::byte{dict[code]};
      }
    }
  }
  for (; i < count; ++i) {
    const size_t first = bit + i * width;
    const size_t at = first / 8;
    auto pair = static_cast<unsigned>(codes[at]) << 8;
    if (at + 1 < codes.size()) pair |= static_cast<unsigned>(codes[at + 1]);
    const unsigned code = pair >> (16 - width - first % 8) & mask;
    largest = code > largest ? code : largest;
    to[4 * i] = std::byte{dict[code]};
  }
  return largest < dict_size;
}

}  // namespace ctxfs
