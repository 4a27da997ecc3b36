// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/formats/column_shard/schema.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::column_shard {

enum class ColumnFile : uint8_t { kValues, kValidity };

/// A ColumnShard (docs/formats/columnshard.md): a table of typed columns, with
/// a chunk for each column and row group. The entries are the chunks; the
/// columns' files have the values.
class ColumnShard final : public shard::ShardContainer {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override;

  void AddInfo(Json& info, const ReadContext& context) const override;
  std::string_view EntryPath(uint32_t entry,
                             std::string& scratch) const override;
  /// Returns kRawEntries if there is a table, because its columns show the same
  /// values decoded.
  Role EntryRole() const override {
    return has_table_ ? Role::kRawEntries : Role::kEntries;
  }
  /// Whether the entry is neither a chunk nor the schema. No file of a column
  /// shows such an entry.
  bool IsOther(uint32_t entry) const;
  Tables Files() const override;
  Exports Export() const override;

  const std::vector<Column>& columns() const { return table_.columns; }

  /// Opens a column over all row groups. Decodes text once to find its size.
  Result<Content> OpenColumn(size_t column, ColumnFile file,
                             const ReadContext& context) const;
  /// Describes a column. Sets EntryInfo::incomplete after an interrupt or a
  /// failed read.
  EntryInfo DescribeColumn(size_t column, ColumnFile file,
                           const ReadContext& context) const;

 private:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  friend class ColumnBlock;

  /// Storage of a column's chunks.
  struct Stored {
    uint64_t size = 0;           // bytes
    uint64_t offset = 0;         // kNoOffset for several chunks
    std::string codec = "none";  // "mixed" if chunks differ
    bool incomplete = false;     // a read failed
  };
  /// Examines all chunks of a column once. Fails only if interrupted.
  Result<Stored> StoredOf(size_t column, const ReadContext& context) const;
  /// Returns the worst verdict of all chunks. Fails only if interrupted.
  Result<std::string> VerifiedText(size_t column,
                                   const ReadContext& context) const;

  std::shared_ptr<const FileTable> ColumnFiles() const;
  std::shared_ptr<const FileTable> OtherFiles() const;
  std::vector<ArrayInfo> Arrays() const;
  Table RowTable() const;
  /// Fails if columns have different numbers of rows.
  Status CheckRows() const;
  Result<Json> ReadSchema(uint32_t entry, const ReadContext& context) const;
  /// Appends the values of an uncompressed chunk that is plain or in byte
  /// planes; these are read without decoding the chunk. Returns false for other
  /// chunks, and for faulty ones.
  Result<bool> AppendStored(const Column& column, const ColumnPart& part,
                            Content& content, const Request& request) const;
  /// Appends a chunk that expands few bytes to many rows. Returns false for
  /// other chunks.
  Result<bool> AppendRepeated(const Column& column, const ColumnPart& part,
                              const ReadContext& context,
                              Content& content) const;
  /// Appends a chunk of text; decodes it to find its size.
  Status AppendText(size_t column, size_t part, const ReadContext& context,
                    Content& content) const;

  std::optional<uint32_t> schema_entry_;
  bool has_table_ = false;  // a schema or a chunk
  ColumnTable table_;
  // For each part of a column of text, the size of its lines plus 1; 0 if
  // unknown.
  mutable std::vector<std::vector<std::atomic<uint64_t>>> text_sizes_;
  mutable Mutex stored_mutex_;
  mutable std::unordered_map<size_t, Stored> stored_  // by column
      CTXFS_GUARDED_BY(stored_mutex_);
  uint64_t owners_[2] = {NewOwner(), NewOwner()};  // of blocks, by ColumnFile
};

}  // namespace ctxfs::column_shard
