// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/io/source.h"

namespace ctxfs::mcf {

/// The layout of a quantised payload (docs/formats/mcf.md, sections 6 and 7).
/// Codes form blocks of 32 that do not cross rows; int8 and int4 payloads have
/// one row with all elements.
struct McfQuantLayout {
  enum class Kind : uint8_t {
    kBlockScales,  // q8, q4: a float16 scale per block
    kSuperScales,  // k6 to k2: a float16 for eight blocks, a byte per block
    kOneScale,     // int8, int4: a float32 scale, perhaps a zero
    kCodesOnly,    // int8, int4 without a scale: no values
  };
  Kind kind = Kind::kCodesOnly;
  unsigned bits = 0;  // of a code
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t blocks_per_row = 0;
  uint64_t supers_per_row = 0;
  bool has_zero = false;  // kOneScale: whether there is a zero
  // Offsets of the regions, relative to the payload.
  uint64_t sub_scales_at = 0;
  uint64_t codes_at = 0;
  uint64_t payload_size = 0;

  uint64_t elements() const { return rows * columns; }
  uint64_t blocks() const { return rows * blocks_per_row; }
  /// Size of the values as float32, bytes: at most 16 times the payload.
  uint64_t value_bytes() const { return elements() * sizeof(float); }
};

/// Returns the number of elements of a shape; nullopt if it exceeds 2^64 - 1.
std::optional<uint64_t> McfElements(std::span<const uint64_t> shape);

// Codes of types (docs/formats/mcf.md, section 5).

constexpr uint32_t kMcfInt4 = 0x11;
// The first quantised type with rows of blocks; the first with super-scales.
constexpr uint32_t kMcfFirstWithBlocks = 0x20;
constexpr uint32_t kMcfFirstWithSupers = 0x30;

/// Returns "f32", "q4", ...; "dtype_64" for an unknown code.
std::string McfDTypeName(uint32_t code);
/// Returns the plain type of a code; nullopt for quantised and unknown types.
std::optional<DType> McfPlainDType(uint32_t code);
bool IsMcfQuantised(uint32_t code);

/// Returns the layout of a payload of `size` bytes. Fails with kCorrupt,
/// without an offset, if size and shape disagree.
Result<McfQuantLayout> McfLayoutOf(uint32_t dtype,
                                   std::span<const uint64_t> shape,
                                   uint64_t size);

/// Computes the values as float32, little-endian and row-major. The payload
/// starts at `offset` and must be within the source. The kind of `layout` must
/// not be kCodesOnly.
std::shared_ptr<const Transform> McfValues(std::shared_ptr<const Source> source,
                                           uint64_t offset,
                                           const McfQuantLayout& layout);

/// Computes the codes of a kCodesOnly int4 payload, a signed byte each.
std::shared_ptr<const Transform> McfNibbles(
    std::shared_ptr<const Source> source, uint64_t offset);

}  // namespace ctxfs::mcf
