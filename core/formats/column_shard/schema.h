// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json/json.h"
#include "core/formats/column_shard/chunk.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::column_shard {

/// The chunk of a column in a row group, according to index and schema.
/// Decoding the chunk fails if its header has another number of rows (text:
/// more rows).
struct ColumnPart {
  uint32_t entry = 0;
  uint32_t rows = 0;
};

/// A column over all row groups.
struct Column {
  std::string name;
  ColumnType type = ColumnType::kBool;
  bool nullable = false;
  uint64_t rows = 0;
  uint64_t per_row = 1;  // values per row: more than 1 in embeddings
  std::vector<ColumnPart> parts;

  /// Whether rows are shown as lines of text.
  bool text() const { return ColumnTypeWidth(type) == 0; }
  /// Returns the number of bytes of a row in the column's file; 0 for text.
  uint64_t row_size() const { return ColumnTypeWidth(type) * per_row; }
  uint64_t size() const { return rows * row_size(); }
  /// Returns the shape, outermost dimension first.
  std::vector<uint64_t> shape() const;
};

/// The columns of a ColumnShard's schema that can be shown
/// (docs/formats/columnshard.md, sections 1 and 4).
struct ColumnTable {
  uint64_t rows = 0;  // row_count of the schema
  std::vector<Column> columns;
  std::vector<Warning> warnings;  // omitted columns, unequal row counts
};

/// Reads the schema. Omits a column, with a warning, if a chunk has too few
/// bytes for its number of rows, unless its header has a smaller number that
/// fits. Of the chunks, reads only those with wrong statistics. Fails only on
/// transient errors.
Result<ColumnTable> ReadColumnTable(const Json& schema,
                                    const shard::ShardContainer& shard,
                                    const ReadContext& context);

}  // namespace ctxfs::column_shard
