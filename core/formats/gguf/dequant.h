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

/// An unpacked block of a quantised type. Value i is codes[i] * scales[i /
/// group], plus adds[i / group] if the type has minima (docs/formats/gguf.md,
/// section 6). The products are exact in float32, so neither the order of the
/// factors nor SIMD changes a result. Exception: q8_k rounds its product, but
/// only once, so every implementation still agrees.
struct GgufCodes {
  static constexpr size_t kMax = 256;
  static constexpr size_t kSmallestGroup = 16;

  alignas(32) int8_t codes[kMax];
  float scales[kMax / kSmallestGroup];
  float adds[kMax / kSmallestGroup];
};

using GgufUnpack = void (*)(const std::byte* block, GgufCodes& codes);

/// Conversion of a quantised type to float32.
struct GgufQuant {
  GgufUnpack unpack = nullptr;  // null for plain types and for q8_1
  uint32_t group = 0;           // elements that share a scale
  bool adds = false;
  /// Number of adjacent float16 fields, from byte halves_at of a block on. A
  /// big-endian file stores these fields swapped, and nothing else of the
  /// block. nullopt: the type defines no big-endian form.
  std::optional<uint32_t> halves = std::nullopt;
  uint32_t halves_at = 0;
};

/// A tensor type (docs/formats/gguf.md, section 5).
struct GgufType {
  std::string_view name;
  uint32_t block = 1;  // elements
  uint32_t bytes = 0;  // of a block
  std::optional<DType> plain = std::nullopt;
  GgufQuant quant = {};
};

/// Returns the type of a code; null for a removed or unknown code.
const GgufType* GgufTypeOf(uint32_t code);
/// Like GgufTypeOf; also null if the type is plain, or if ctxfs cannot
/// dequantise it.
const GgufType* GgufQuantOf(uint32_t code);
/// Returns a name such as "f32", "q4_k", "type_99".
std::string GgufTypeName(uint32_t code);

/// Converts `count` blocks to float32 with the fastest kernels of this
/// processor. GgufQuantOf must accept the type. `out` need not be aligned.
void GgufDequantize(const GgufType& type, const std::byte* blocks, size_t count,
                    std::byte* out);
/// Like GgufDequantize; `kernels` compute codes * scales + adds.
void GgufDequantizeBy(const DequantKernels& kernels, const GgufType& type,
                      const std::byte* blocks, size_t count, std::byte* out);

}  // namespace ctxfs::gguf
