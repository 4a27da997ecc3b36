// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/codec/half.h"

// The fields of a block, for all unpackers. `at` is a byte of the block.
namespace ctxfs::gguf {

inline float HalfAt(const std::byte* block, size_t at) {
  return HalfToFloat(LoadLe<uint16_t>(block + at));
}

inline unsigned ByteAt(const std::byte* block, size_t at) {
  return std::to_integer<unsigned>(block[at]);
}

inline int8_t SignedByteAt(const std::byte* block, size_t at) {
  return static_cast<int8_t>(std::to_integer<uint8_t>(block[at]));
}

/// The low half of a byte if `index` is even, else the high half.
inline unsigned HalfByteAt(const std::byte* block, size_t at, size_t index) {
  return ByteAt(block, at) >> (index % 2 == 0 ? 0 : 4) & 15U;
}

/// The signed codes of iq4_nl and iq4_xs.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace ctxfs::gguf
