// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/views/tables/table_reader.h"

namespace ctxfs {

/// Packs each byte into a bit, lowest bit first: any value but 0 is 1.
Content PackBits(const Content& bytes);

Result<uint64_t> CountZeros(const Content& bytes, const ReadContext& context);

/// Arrow's buffers for a column of lines.
struct TextBuffers {
  bool wide = false;   // 64-bit offsets: the data exceeds 2^31 - 1 bytes
  uint64_t nulls = 0;  // number of null rows
  Content valid;       // one bit a row
  Content offsets;     // offsets in `data` of each row, and of the end
  Content data;        // the values of the rows, without separators
};

/// Builds the buffers. Reads the whole column of lines to find the sizes.
Result<TextBuffers> MakeTextBuffers(
    const std::shared_ptr<const TableReader>& reader, size_t column,
    const ReadContext& context);

}  // namespace ctxfs
