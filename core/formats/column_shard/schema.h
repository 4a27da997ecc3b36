// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/formats/column_shard/chunk.h"
#include "core/formats/shard/shard.h"

namespace ctxfs {

/// A row group's chunk of a column, as index and schema have it; its own header
/// must agree.
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

/// What a ColumnShard's schema says, as far as the chunks' sizes in the index
/// bear it out (docs/columnshard.md, sections 1 and 4).
struct ColumnTable {
  uint64_t rows = 0;  // as the schema has it
  std::vector<Column> columns;
  std::vector<Warning> warnings;  // columns that are left out, and why
};

/// No count is believed that its chunk's bytes could not hold. Reads no chunk
/// but those that the statistics are wrong about. Fails only when the store
/// does.
Result<ColumnTable> ReadColumnTable(const Json& schema,
                                    const ShardContainer& shard,
                                    const ReadContext& context);

}  // namespace ctxfs
