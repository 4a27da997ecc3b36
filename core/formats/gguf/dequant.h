// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ctxfs::gguf {

/// A block of a quantised type taken apart: value i is
/// codes[i] * scales[i / group], plus adds[i / group] if the type has such
/// terms (docs/gguf.md, section 6). The products are exact in float32, so that
/// neither the order of the factors nor SIMD changes a result. The exception is
/// q8_k, whose product is rounded, but only once, so its result is the same in
/// every implementation too.
struct GgufCodes {
  static constexpr size_t kMost = 256;
  static constexpr size_t kSmallestGroup = 16;

  alignas(32) int8_t codes[kMost];
  float scales[kMost / kSmallestGroup];
  float adds[kMost / kSmallestGroup];
};

using GgufUnpack = void (*)(const std::byte* block, GgufCodes& codes);

/// A quantised type, whose elements are stored in blocks.
struct GgufQuant {
  uint32_t code = 0;
  uint32_t block = 0;  // elements
  uint32_t bytes = 0;
  uint32_t group = 0;  // elements of one scale
  bool adds = false;
  static constexpr uint32_t kNone = UINT32_MAX;
  /// Whether the type's byte order in a big-endian file is defined.
  bool big_endian = false;
  /// Where the float16 numbers of a block are, at most two: their bytes are
  /// swapped in a big-endian file. kNone for none.
  uint32_t half_at = kNone;
  uint32_t other_half_at = kNone;
  GgufUnpack unpack = nullptr;
};

/// The quantised type with a code of docs/gguf.md, section 5; null for a code
/// that is unknown or that of a plain type, and for q8_1, which ctxfs does not
/// dequantise.
const GgufQuant* GgufQuantOf(uint32_t code);

/// One implementation of the last step: codes times scales, plus adds. `out`
/// has four bytes for each element, which are written little-endian; every NaN
/// becomes 0x7FC00000.
using GgufMultiply = void (*)(const GgufCodes& codes, size_t count,
                              size_t group, bool adds, std::byte* out);

void GgufMultiplyScalar(const GgufCodes& codes, size_t count, size_t group,
                        bool adds, std::byte* out);
/// Null if it was not compiled in, or if this processor has no AVX2.
GgufMultiply GgufMultiplyAvx2();

/// Converts `count` blocks to float32 with the fastest implementation for this
/// processor. `out` need not be aligned.
void GgufDequantize(const GgufQuant& quant, const std::byte* blocks,
                    size_t count, std::byte* out);
/// The same with the implementation `multiply`.
void GgufDequantizeBy(GgufMultiply multiply, const GgufQuant& quant,
                      const std::byte* blocks, size_t count, std::byte* out);

// The types, by the file that has their unpackers.
extern const GgufQuant kGgufSmallQuants[];  // blocks of 32 to 128, and q8_k
extern const size_t kGgufSmallQuantCount;
extern const GgufQuant kGgufKQuants[];  // blocks of 256 with packed scales
extern const size_t kGgufKQuantCount;
extern const GgufQuant kGgufIqQuants[];  // those with code books
extern const size_t kGgufIqQuantCount;

}  // namespace ctxfs::gguf
