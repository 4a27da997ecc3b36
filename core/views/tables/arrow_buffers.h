// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/views/tables/table_reader.h"

namespace ctxfs {

/// Bytes of 0 and not 0 as bits, the first the lowest.
Content PackBits(const Content& bytes);

/// Bytes that are 0.
Result<uint64_t> CountZeros(const Content& bytes, const ReadContext& context);

/// A column of lines as Arrow's buffers.
struct TextBuffers {
  bool wide = false;   // offsets of 64 bits, since the text needs them
  uint64_t nulls = 0;  // rows
  Content valid;       // a bit a row
  Content offsets;     // of each row in the data, and of its end
  Content data;        // what the rows are, end to end
};

/// Reads the column once, to measure it.
Result<TextBuffers> MakeTextBuffers(
    const std::shared_ptr<const TableReader>& reader, size_t column,
    const ReadContext& context);

}  // namespace ctxfs
