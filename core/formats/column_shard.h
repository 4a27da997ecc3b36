// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/column_chunk.h"
#include "core/formats/shard.h"

namespace ctxfs {

/// A ColumnShard (docs/columnshard.md): a table of typed columns, each in one
/// chunk a row group. The chunks are the container's entries.
class ColumnShard final : public ShardContainer {
 public:
  using ShardContainer::ShardContainer;

  Status Load() override;

  Json Info() const override;
  std::optional<std::string> EntryPath(uint32_t entry) const override;
  std::vector<OwnFile> OwnFiles() const override;
  std::vector<ArrayInfo> Arrays() const override;

 private:
  friend class ColumnBlock;

  /// A chunk as index and schema have it; its own header must agree.
  struct ColumnPart {
    uint32_t entry;
    uint32_t rows;
  };
  struct Column {
    std::string name;
    ColumnType type = ColumnType::kBool;
    bool nullable = false;
    uint64_t rows = 0;
    uint64_t per_row = 1;  // values of a row: more than 1 in embeddings
    std::vector<ColumnPart> parts;

    bool text() const { return ColumnTypeWidth(type) == 0; }
    /// Bytes of a row in the column's file.
    uint64_t row_size() const { return ColumnTypeWidth(type) * per_row; }
  };
  /// What a column's two files are made of.
  enum class Kind : uint8_t { kValues, kValidity };

  /// Entries by name, for as long as columns look for their chunks.
  class Names;

  Result<Json> ReadSchema(uint32_t entry) const;
  void ReadColumns(const Json& schema, const Names& names);
  Result<Column> ReadColumn(const Json& described, uint64_t groups,
                            const Names& names) const;
  Status ReadPart(const Json& described, uint64_t group, const Names& names,
                  Column& column) const;
  /// The values of a row, worked out from one chunk; 0 where any will do.
  Result<uint64_t> PerRow(const Column& column, const ColumnPart& part,
                          uint64_t nulls) const;

  std::shared_ptr<const ColumnShard> Self() const {
    return std::static_pointer_cast<const ColumnShard>(shared_from_this());
  }
  std::vector<uint64_t> ShapeOf(const Column& column) const;
  EntryInfo DescribeColumn(const Column& column, Kind kind) const;
  Result<Content> OpenColumn(size_t column, Kind kind, BlockCache& cache) const;
  /// Appends the values of a chunk that is stored as it is; false for one that
  /// has to be decoded first.
  Result<bool> AppendStored(const Column& column, const ColumnPart& part,
                            Content& content) const;
  OwnFile FileOf(size_t column, Kind kind) const;

  std::optional<uint32_t> schema_entry_;
  uint64_t rows_ = 0;
  std::vector<Column> columns_;
  uint64_t owners_[2] = {NewOwner(), NewOwner()};  // of blocks, by Kind
};

}  // namespace ctxfs
