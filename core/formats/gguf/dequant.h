// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ctxfs {

/// A block of a quantised type taken apart: value i is
/// codes[i] * scales[i / group], plus adds[i / group] if the type has that
/// (docs/gguf.md, section 6). Products are exact in float32, so that the order
/// of factors and SIMD change nothing; q8_k's rounds once, wherever it is made.
struct GgufCodes {
  static constexpr size_t kMost = 256;
  static constexpr size_t kSmallestGroup = 16;

  alignas(32) int8_t codes[kMost];
  float scales[kMost / kSmallestGroup];
  float adds[kMost / kSmallestGroup];
};

using GgufUnpack = void (*)(const std::byte* block, GgufCodes& codes);

/// A type of blocks.
struct GgufQuant {
  uint32_t code = 0;
  uint32_t block = 0;  // elements
  uint32_t bytes = 0;
  uint32_t group = 0;  // elements of one scale
  bool adds = false;
  /// The stored float16 numbers of a block are two at most: bytes that have to
  /// be exchanged with the next in a big-endian file; kNone for none.
  /// `big_endian`: whether the byte order of such a file is defined.
  static constexpr uint32_t kNone = UINT32_MAX;
  bool big_endian = false;
  uint32_t half_at = kNone;
  uint32_t other_half_at = kNone;
  GgufUnpack unpack = nullptr;
};

/// The quantised type with a code of section 5; null for one that is plain,
/// unknown, or has no values (q8_1).
const GgufQuant* GgufQuantOf(uint32_t code);

/// One implementation of the last step. `out` takes four bytes an element,
/// little-endian; every NaN becomes 0x7FC00000.
using GgufMultiply = void (*)(const GgufCodes& codes, size_t count,
                              size_t group, bool adds, std::byte* out);

void GgufMultiplyScalar(const GgufCodes& codes, size_t count, size_t group,
                        bool adds, std::byte* out);
/// Null where it was not compiled in or this processor has no AVX2.
GgufMultiply GgufMultiplyAvx2();

/// `count` blocks as float32, by the fastest implementation that this processor
/// runs. `out` need not be aligned.
void GgufDequantize(const GgufQuant& quant, const std::byte* blocks,
                    size_t count, std::byte* out);
/// The same by `multiply`.
void GgufDequantizeBy(GgufMultiply multiply, const GgufQuant& quant,
                      const std::byte* blocks, size_t count, std::byte* out);

// Unpackers, by file.
extern const GgufQuant kGgufSmallQuants[];  // blocks of 32 to 128, and q8_k
extern const size_t kGgufSmallQuantCount;
extern const GgufQuant kGgufKQuants[];  // blocks of 256 with packed scales
extern const size_t kGgufKQuantCount;
extern const GgufQuant kGgufIqQuants[];  // those with code books
extern const size_t kGgufIqQuantCount;

}  // namespace ctxfs
