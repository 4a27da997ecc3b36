// SPDX-License-Identifier: Apache-2.0
//
// dequant.cc with AVX2: eight codes at a time, with the same results bit for
// bit.
#include "core/codec/numbers/avx2.h"
#include "core/codec/numbers/dequant.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace ctxfs {
namespace {

constexpr size_t kLanes = 8;  // floats per vector

/// Loads the `kBits` bytes of eight codes into each lane. Six-bit codes do not
/// fit into one word: lanes 4 to 7 have the word that starts at bit 24, where
/// the upper four codes start.
template <unsigned kBits>
CTXFS_AVX2 inline __m256i Words(const std::byte* p) {
  if constexpr (kBits == 2) {
    return _mm256_set1_epi32(LoadLe<uint16_t>(p));
  } else if constexpr (kBits == 3) {
    return _mm256_set1_epi32(LoadLe<uint16_t>(p) | std::to_integer<int>(p[2])
                                                       << 16);
  } else if constexpr (kBits == 4) {
    return _mm256_set1_epi32(static_cast<int>(LoadLe<uint32_t>(p)));
  } else {
    static_assert(kBits == 6);
    const uint32_t low = LoadLe<uint32_t>(p);
    const uint32_t high = low >> 24 | uint32_t{LoadLe<uint16_t>(p + 4)} << 8;
    return _mm256_set_m128i(_mm_set1_epi32(static_cast<int>(high)),
                            _mm_set1_epi32(static_cast<int>(low)));
  }
}

/// Eight codes as floats.
template <unsigned kBits>
CTXFS_AVX2 inline __m256 Codes(const std::byte* p) {
  if constexpr (kBits == 8) {
    const auto* bytes = reinterpret_cast<const __m128i*>(p);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(bytes)));
  } else {
    // Sign extension: shifts the code to the top of the lane and down again.
    constexpr int kTop = 32 - static_cast<int>(kBits);
    const __m256i shifts =
        kBits == 6
            ? _mm256_setr_epi32(26, 20, 14, 8, 26, 20, 14, 8)
            : _mm256_sub_epi32(_mm256_set1_epi32(kTop),
                               _mm256_mullo_epi32(
                                   _mm256_set1_epi32(32 - kTop),
                                   _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    const __m256i top = _mm256_sllv_epi32(Words<kBits>(p), shifts);
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, kTop));
  }
}

CTXFS_AVX2 inline void Store(std::byte* out, __m256 values) {
  const __m256 nan =
      _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kDequantNan)));
  const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
  _mm256_storeu_ps(reinterpret_cast<float*>(out),
                   _mm256_blendv_ps(values, nan, is_nan));
}

template <unsigned kBits>
CTXFS_AVX2 void BlocksAvx2Of(const std::byte* codes, const float* scales,
                             size_t count, std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    const __m256 scale = _mm256_set1_ps(scales[i]);
    const __m256 keep = _mm256_cmp_ps(scale, _mm256_setzero_ps(), _CMP_NEQ_UQ);
    for (size_t group = 0; group < kBlockCodes / kLanes; ++group) {
      const __m256 values = _mm256_mul_ps(Codes<kBits>(codes), scale);
      Store(out, _mm256_and_ps(values, keep));
      codes += kBits;
      out += kLanes * sizeof(float);
    }
  }
}

CTXFS_AVX2 void BlocksAvx2(unsigned bits, const std::byte* codes,
                           const float* scales, size_t count, std::byte* out) {
  switch (bits) {
    case 2:
      return BlocksAvx2Of<2>(codes, scales, count, out);
    case 3:
      return BlocksAvx2Of<3>(codes, scales, count, out);
    case 4:
      return BlocksAvx2Of<4>(codes, scales, count, out);
    case 6:
      return BlocksAvx2Of<6>(codes, scales, count, out);
    default:
      return BlocksAvx2Of<8>(codes, scales, count, out);
  }
}

template <unsigned kBits>
CTXFS_AVX2 void AffineAvx2Of(const std::byte* codes, float scale, float zero,
                             size_t count, std::byte* out) {
  const __m256 scales = _mm256_set1_ps(scale);
  const __m256 zeros = _mm256_set1_ps(zero);
  for (size_t i = 0; i < count * kBlockCodes / kLanes; ++i) {
    const __m256 from_zero = _mm256_sub_ps(Codes<kBits>(codes), zeros);
    Store(out, _mm256_mul_ps(scales, from_zero));
    codes += kBits;
    out += kLanes * sizeof(float);
  }
}

CTXFS_AVX2 void AffineAvx2(unsigned bits, const std::byte* codes, float scale,
                           float zero, size_t count, std::byte* out) {
  if (bits == 4) return AffineAvx2Of<4>(codes, scale, zero, count, out);
  return AffineAvx2Of<8>(codes, scale, zero, count, out);
}

template <bool kAdds>
CTXFS_AVX2 void GroupedAvx2Of(const int8_t* codes, const float* scales,
                              const float* adds, size_t count, size_t group,
                              std::byte* out) {
  for (size_t g = 0; g < count / group; ++g) {
    const __m256 scale = _mm256_set1_ps(scales[g]);
    const __m256 add = _mm256_set1_ps(kAdds ? adds[g] : 0);
    for (size_t i = 0; i < group; i += kLanes) {
      const __m128i bytes =
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
      const __m256 numbers = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
      const __m256 products = _mm256_mul_ps(numbers, scale);
      Store(out, kAdds ? _mm256_add_ps(products, add) : products);
      codes += kLanes;
      out += kLanes * sizeof(float);
    }
  }
}

CTXFS_AVX2 void GroupedAvx2(const int8_t* codes, const float* scales,
                            const float* adds, size_t count, size_t group,
                            std::byte* out) {
  if (adds != nullptr) {
    return GroupedAvx2Of<true>(codes, scales, adds, count, group, out);
  }
  return GroupedAvx2Of<false>(codes, scales, adds, count, group, out);
}

constexpr DequantKernels kAvx2Dequant{&BlocksAvx2, &AffineAvx2, &GroupedAvx2};

}  // namespace

const DequantKernels* Avx2Dequant() {
  return HasAvx2() ? &kAvx2Dequant : nullptr;
}

}  // namespace ctxfs

#else

namespace ctxfs {

const DequantKernels* Avx2Dequant() { return nullptr; }

}  // namespace ctxfs

#endif
