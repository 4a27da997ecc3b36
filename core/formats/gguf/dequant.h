// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/codec/numbers/dequant.h"

namespace ctxfs::gguf {

/// A block of a quantised type taken apart: value i is
/// codes[i] * scales[i / group], plus adds[i / group] if the type has such
/// terms (docs/formats/gguf.md, section 6). The products are exact in float32,
/// so that neither the order of the factors nor SIMD changes a result. The
/// exception is q8_k, whose product is rounded, but only once, so its result is
/// the same in every implementation too.
struct GgufCodes {
  static constexpr size_t kMax = 256;
  static constexpr size_t kSmallestGroup = 16;

  alignas(32) int8_t codes[kMax];
  float scales[kMax / kSmallestGroup];
  float adds[kMax / kSmallestGroup];
};

using GgufUnpack = void (*)(const std::byte* block, GgufCodes& codes);

/// How the blocks of a quantised type become float32.
struct GgufQuant {
  GgufUnpack unpack = nullptr;  // null: plain, or q8_1
  uint32_t group = 0;           // elements of one scale
  bool adds = false;
  /// How many float16 numbers there are from byte halves_at of a block on:
  /// their bytes are swapped in a big-endian file. nullopt: the byte order of
  /// the type in such a file is undefined.
  std::optional<uint32_t> halves = std::nullopt;
  uint32_t halves_at = 0;
};

/// A type of tensors (docs/formats/gguf.md, section 5).
struct GgufType {
  std::string_view name;
  uint32_t block = 1;  // elements
  uint32_t bytes = 0;  // of a block
  std::optional<DType> plain = std::nullopt;
  GgufQuant quant = {};
};

/// Null for a removed or unknown code.
const GgufType* GgufTypeOf(uint32_t code);
/// Like GgufTypeOf; null, too, for a type that ctxfs cannot dequantise.
const GgufType* GgufQuantOf(uint32_t code);
/// "f32", "q4_k", "type_99".
std::string GgufTypeName(uint32_t code);

/// Converts `count` blocks to float32 with the fastest implementation for this
/// processor. `out` need not be aligned.
void GgufDequantize(const GgufType& type, const std::byte* blocks, size_t count,
                    std::byte* out);
/// Like GgufDequantize, with the given implementation of the last step: codes
/// times scales, plus adds.
void GgufDequantizeBy(const DequantKernels& kernels, const GgufType& type,
                      const std::byte* blocks, size_t count, std::byte* out);

}  // namespace ctxfs::gguf
