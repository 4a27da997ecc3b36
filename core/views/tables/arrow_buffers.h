// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/views/tables/table_reader.h"

namespace ctxfs {

/// Packs each byte into a bit, lowest bit first: 0 is clear, any other is set.
Content PackBits(const Content& bytes);

/// Returns how many bytes are 0.
Result<uint64_t> CountZeros(const Content& bytes, const ReadContext& context);

/// A column of lines as Arrow's buffers.
struct TextBuffers {
  bool wide = false;   // offsets of 64 bits: the data exceeds 2^31 - 1 bytes
  uint64_t nulls = 0;  // rows that are null
  Content valid;       // a bit a row
  Content offsets;     // of each row in `data`, and the end of the last
  Content data;        // the rows without separators
};

/// Makes the buffers of a column of lines. Reads all of it, to measure it.
Result<TextBuffers> MakeTextBuffers(
    const std::shared_ptr<const TableReader>& reader, size_t column,
    const ReadContext& context);

}  // namespace ctxfs
