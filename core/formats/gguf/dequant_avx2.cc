// SPDX-License-Identifier: Apache-2.0
//
// GgufMultiplyScalar for AVX2: eight codes at a time, with the same result in
// every bit.
#include "core/codec/dequant.h"
#include "core/formats/gguf/dequant.h"

#if defined(__x86_64__)

#include <immintrin.h>

// A compiler flag for this file would also apply to inline functions of
// headers, and the linker might keep those for the whole program, which must
// run without AVX2.
#define CTXFS_AVX2 __attribute__((target("avx2")))

namespace ctxfs::gguf {
namespace {

constexpr size_t kAtOnce = 8;

template <bool kAdds>
CTXFS_AVX2 void Multiply(const GgufCodes& codes, size_t count, size_t group,
                         std::byte* out) {
  const __m256 nan =
      _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kDequantNan)));
  const int8_t* at = codes.codes;
  for (size_t g = 0; g < count / group; ++g) {
    const __m256 scale = _mm256_set1_ps(codes.scales[g]);
    const __m256 add = _mm256_set1_ps(kAdds ? codes.adds[g] : 0);
    for (size_t i = 0; i < group; i += kAtOnce) {
      const __m128i bytes =
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
      const __m256 numbers = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
      __m256 values = _mm256_mul_ps(numbers, scale);
      if constexpr (kAdds) values = _mm256_add_ps(values, add);
      const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
      _mm256_storeu_ps(reinterpret_cast<float*>(out),
                       _mm256_blendv_ps(values, nan, is_nan));
      at += kAtOnce;
      out += kAtOnce * sizeof(float);
    }
  }
}

CTXFS_AVX2 void MultiplyAvx2(const GgufCodes& codes, size_t count, size_t group,
                             bool adds, std::byte* out) {
  if (adds) return Multiply<true>(codes, count, group, out);
  return Multiply<false>(codes, count, group, out);
}

}  // namespace

GgufMultiply GgufMultiplyAvx2() {
  return __builtin_cpu_supports("avx2") != 0 ? &MultiplyAvx2 : nullptr;
}

}  // namespace ctxfs::gguf

#else

namespace ctxfs::gguf {

GgufMultiply GgufMultiplyAvx2() { return nullptr; }

}  // namespace ctxfs::gguf

#endif
