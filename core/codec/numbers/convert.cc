// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -ffp-contract=off, because a product and a sum must be rounded
// separately.
#include "core/codec/numbers/convert.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/codec/numbers/avx2.h"
#include "core/codec/numbers/half.h"

namespace ctxfs {

void HalvesToFloatsScalar(Bytes in, MutableBytes out) {
  for (size_t i = 0; i < in.size() / 2; ++i) {
    const auto half = LoadLe<uint16_t>(in.data() + 2 * i);
    StoreLe(HalfToFloatBits(half), out.data() + 4 * i);
  }
}

void BytesToFloatsScalar(Bytes in, float scale, float min, MutableBytes out) {
  for (size_t i = 0; i < in.size(); ++i) {
    const float product = static_cast<float>(in[i]) * scale;
    StoreLe(product + min, out.data() + 4 * i);
  }
}

#if defined(__x86_64__)
namespace {

/// Returns the number of elements converted, a multiple of 8.
CTXFS_AVX2 size_t HalvesToFloatsAvx2(Bytes in, MutableBytes out) {
  const __m128i magnitude = _mm_set1_epi16(0x7FFF);
  const __m128i infinity = _mm_set1_epi16(0x7C00);
  const __m128i quiet = _mm_set1_epi16(0x7E00);
  const size_t count = in.size() / 2 / 8 * 8;
  for (size_t i = 0; i < count; i += 8) {
    const std::byte* from = in.data() + 2 * i;
    std::byte* to = out.data() + 4 * i;
    const __m128i halves =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i size = _mm_and_si128(halves, magnitude);
    const __m128i signalling = _mm_and_si128(_mm_cmpgt_epi16(size, infinity),
                                             _mm_cmplt_epi16(size, quiet));
    if (_mm_movemask_epi8(signalling) != 0) {
      // The instruction would make signalling NaNs quiet.
      HalvesToFloatsScalar(in.subspan(2 * i, 16), {to, 32});
      continue;
    }
    _mm256_storeu_ps(reinterpret_cast<float*>(to), _mm256_cvtph_ps(halves));
  }
  return count;
}

CTXFS_AVX2 size_t BytesToFloatsAvx2(Bytes in, float scale, float min,
                                    MutableBytes out) {
  const __m256 scales = _mm256_set1_ps(scale);
  const __m256 mins = _mm256_set1_ps(min);
  const size_t count = in.size() / 8 * 8;
  for (size_t i = 0; i < count; i += 8) {
    const __m128i bytes =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in.data() + i));
    const __m256 codes = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    const __m256 products = _mm256_mul_ps(codes, scales);
    _mm256_storeu_ps(reinterpret_cast<float*>(out.data() + 4 * i),
                     _mm256_add_ps(products, mins));
  }
  return count;
}

}  // namespace
#endif

void HalvesToFloats(Bytes in, MutableBytes out) {
  size_t done = 0;
#if defined(__x86_64__)
  if (HasAvx2()) done = HalvesToFloatsAvx2(in, out);
#endif
  HalvesToFloatsScalar(in.subspan(2 * done), out.subspan(4 * done));
}

void BytesToFloats(Bytes in, float scale, float min, MutableBytes out) {
  size_t done = 0;
#if defined(__x86_64__)
  if (HasAvx2()) done = BytesToFloatsAvx2(in, scale, min, out);
#endif
  BytesToFloatsScalar(in.subspan(done), scale, min, out.subspan(4 * done));
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
