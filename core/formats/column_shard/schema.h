// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json/json.h"
#include "core/formats/column_shard/chunk.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::column_shard {

/// The chunk of a column in a row group, from index and schema. Its own header
/// must agree with them.
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
  uint64_t per_row = 1;  // values of a row: more than 1 in embeddings
  std::vector<ColumnPart> parts;

  /// Whether its rows are shown as lines of text.
  bool text() const { return ColumnTypeWidth(type) == 0; }
  /// Bytes of a row in the column's file; 0 for text.
  uint64_t row_size() const { return ColumnTypeWidth(type) * per_row; }
  uint64_t size() const { return rows * row_size(); }
  /// Outermost first.
  std::vector<uint64_t> shape() const;
};

/// The columns of a ColumnShard's schema, as far as the sizes of the chunks in
/// the index confirm them (docs/formats/columnshard.md, sections 1 and 4).
struct ColumnTable {
  uint64_t rows = 0;  // row_count of the schema
  std::vector<Column> columns;
  std::vector<Warning> warnings;  // columns that are left out, and why
};

/// Reads the schema. Uses no count that its chunk has too few bytes for. Reads
/// no chunk except those whose statistics are wrong. Fails on transient errors
/// only.
Result<ColumnTable> ReadColumnTable(const Json& schema,
                                    const shard::ShardContainer& shard,
                                    const ReadContext& context);

}  // namespace ctxfs::column_shard
