// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/io/source.h"

namespace ctxfs {

/// Where everything lies in a quantised payload (docs/mcf.md, sections 6 and
/// 7). Codes are counted in blocks of 32 that never cross a row; a payload
/// without rows, int8 or int4, is one row of all its elements.
struct McfQuantLayout {
  enum class Kind : uint8_t {
    kBlockScales,  // q8, q4: a float16 scale a block
    kSuperScales,  // k6 to k2: a float16 for eight blocks, six bits for each
    kOneScale,     // int8, int4: a float32 scale, perhaps a float32 zero
    kCodesOnly,    // int8, int4 without their scale: no values
  };
  Kind kind = Kind::kCodesOnly;
  unsigned bits = 0;  // of a code
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t blocks_per_row = 0;
  uint64_t supers_per_row = 0;
  bool has_zero = false;  // kOneScale: activations
  // Regions, from the payload's start.
  uint64_t sub_scales_at = 0;
  uint64_t codes_at = 0;
  uint64_t payload_size = 0;

  uint64_t elements() const { return rows * columns; }
  uint64_t blocks() const { return rows * blocks_per_row; }
  /// Bytes of the values as float32: at most 16 times the payload.
  uint64_t value_bytes() const { return elements() * sizeof(float); }
};

/// How many elements a shape has; nothing for more than 2^64 - 1.
std::optional<uint64_t> McfElements(std::span<const uint64_t> shape);

/// Whether `dtype`, a code of docs/mcf.md section 5, is a quantised type.
bool IsMcfQuantised(uint32_t dtype);

/// The layout of a payload of `size` bytes; the error says why it has none:
/// kCorrupt, without an offset.
Result<McfQuantLayout> McfLayoutOf(uint32_t dtype,
                                   std::span<const uint64_t> shape,
                                   uint64_t size);

/// The values as float32, little-endian and row-major. The payload starts at
/// `offset` and lies within the source; not for kCodesOnly.
std::shared_ptr<const Transform> McfValues(std::shared_ptr<const Source> source,
                                           uint64_t offset,
                                           const McfQuantLayout& layout);

/// The codes of a kCodesOnly payload of four bits, a signed byte each.
std::shared_ptr<const Transform> McfNibbles(
    std::shared_ptr<const Source> source, uint64_t offset);

}  // namespace ctxfs
