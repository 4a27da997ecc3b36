// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/codec/numbers/half.h"
#include "core/formats/gguf/dequant.h"

namespace ctxfs::gguf {

// The fields of a block. `at` is a byte of the block.

inline float HalfAt(const std::byte* block, size_t at) {
  return HalfToFloat(LoadLe<uint16_t>(block + at));
}

inline unsigned ByteAt(const std::byte* block, size_t at) {
  return std::to_integer<unsigned>(block[at]);
}

inline int8_t SignedByteAt(const std::byte* block, size_t at) {
  return static_cast<int8_t>(std::to_integer<uint8_t>(block[at]));
}

/// Returns the low half of the byte if `index` is even, else the high half.
inline unsigned HalfByteAt(const std::byte* block, size_t at, size_t index) {
  return ByteAt(block, at) >> (index % 2 == 0 ? 0 : 4) & 15U;
}

/// Signed codes of iq4_nl and iq4_xs.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

/// Unpacks 2 * kBytes codes: those in the low halves of the bytes come first,
/// then those in the high halves.
template <size_t kBytes>
void NibblesOf(const std::byte* in, const int8_t* values, int8_t* codes) {
  for (size_t i = 0; i < kBytes; ++i) {
    const unsigned pair = ByteAt(in, i);
    codes[i] = values[pair & 15U];
    codes[kBytes + i] = values[pair >> 4];
  }
}

// One GgufUnpack for each type.

// unpack_small.cc: one scale per block, or one for each 16 elements.
void UnpackQ40(const std::byte* block, GgufCodes& out);
void UnpackQ41(const std::byte* block, GgufCodes& out);
void UnpackQ50(const std::byte* block, GgufCodes& out);
void UnpackQ51(const std::byte* block, GgufCodes& out);
void UnpackQ80(const std::byte* block, GgufCodes& out);
void UnpackQ8K(const std::byte* block, GgufCodes& out);
void UnpackIq4Nl(const std::byte* block, GgufCodes& out);
void UnpackMxfp4(const std::byte* block, GgufCodes& out);
void UnpackNvfp4(const std::byte* block, GgufCodes& out);
void UnpackQ10(const std::byte* block, GgufCodes& out);
void UnpackQ20(const std::byte* block, GgufCodes& out);

// unpack_k.cc: packed scales, and ternary codes.
void UnpackQ2K(const std::byte* block, GgufCodes& out);
void UnpackQ3K(const std::byte* block, GgufCodes& out);
void UnpackQ4K(const std::byte* block, GgufCodes& out);
void UnpackQ5K(const std::byte* block, GgufCodes& out);
void UnpackQ6K(const std::byte* block, GgufCodes& out);
void UnpackTq20(const std::byte* block, GgufCodes& out);
void UnpackTq10(const std::byte* block, GgufCodes& out);

// unpack_iq.cc: code books.
void UnpackIq4Xs(const std::byte* block, GgufCodes& out);
void UnpackIq2Xxs(const std::byte* block, GgufCodes& out);
void UnpackIq2Xs(const std::byte* block, GgufCodes& out);
void UnpackIq2S(const std::byte* block, GgufCodes& out);
void UnpackIq3Xxs(const std::byte* block, GgufCodes& out);
void UnpackIq3S(const std::byte* block, GgufCodes& out);
void UnpackIq1S(const std::byte* block, GgufCodes& out);
void UnpackIq1M(const std::byte* block, GgufCodes& out);

}  // namespace ctxfs::gguf
