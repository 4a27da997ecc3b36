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

/// The files of a column.
enum class ColumnFile : uint8_t { kValues, kValidity };

/// A ColumnShard (docs/formats/columnshard.md): a table of typed columns, with
/// a chunk for each column and row group. The chunks are the entries; the files
/// of the columns have their values.
class ColumnShard final : public shard::ShardContainer {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override;

  void AddInfo(Json& info, const ReadContext& context) const override;
  std::string_view EntryPath(uint32_t entry,
                             std::string& scratch) const override;
  /// kRawEntries, because the columns show the same values in a more useful
  /// form, unless there is neither a schema nor a chunk.
  Role EntryRole() const override {
    return has_table_ ? Role::kRawEntries : Role::kEntries;
  }
  /// Whether an entry is neither a chunk nor the schema, so that no other file
  /// shows it.
  bool IsOther(uint32_t entry) const;
  Tables Files() const override;
  Exports Export() const override;

  const std::vector<Column>& columns() const { return table_.columns; }

  /// Opens a column over all row groups. Decodes text once, to measure it.
  Result<Content> OpenColumn(size_t column, ColumnFile file,
                             const ReadContext& context) const;
  /// Describes a column; `incomplete` if that was interrupted or a read failed.
  EntryInfo DescribeColumn(size_t column, ColumnFile file,
                           const ReadContext& context) const;

 private:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  friend class ColumnBlock;

  /// How the chunks of a column are stored.
  struct Stored {
    uint64_t size = 0;           // bytes
    uint64_t offset = 0;         // kNoOffset for several chunks
    std::string codec = "none";  // "mixed" for chunks of several codecs
    bool incomplete = false;     // the store failed while it was examined
  };
  /// Looks at all chunks of a column, at the first call. Fails only if it is
  /// interrupted.
  Result<Stored> StoredOf(size_t column, const ReadContext& context) const;
  /// The worst verdict of all chunks: "failed" before any other. Fails only if
  /// it is interrupted.
  Result<std::string> VerifiedText(size_t column,
                                   const ReadContext& context) const;

  std::shared_ptr<const FileTable> ColumnFiles() const;
  std::shared_ptr<const FileTable> OtherFiles() const;
  std::vector<ArrayInfo> Arrays() const;
  Table RowTable() const;
  Result<Json> ReadSchema(uint32_t entry, const ReadContext& context) const;
  /// Appends the values of a chunk that is read in place; returns false if it
  /// must be decoded.
  Result<bool> AppendStored(const Column& column, const ColumnPart& part,
                            Content& content, const Request& request) const;
  /// Appends the values of a chunk whose few bytes stand for many rows; returns
  /// false for any other.
  Result<bool> AppendRepeated(const Column& column, const ColumnPart& part,
                              const ReadContext& context,
                              Content& content) const;
  /// Appends a chunk of text, which is decoded to measure it.
  Status AppendText(size_t column, size_t part, const ReadContext& context,
                    Content& content) const;

  std::optional<uint32_t> schema_entry_;
  bool has_table_ = false;  // a schema or a chunk
  ColumnTable table_;
  // Of each part of a column of text: its bytes plus 1; 0 if not yet known.
  mutable std::vector<std::vector<std::atomic<uint64_t>>> text_sizes_;
  mutable Mutex stored_mutex_;
  mutable std::unordered_map<size_t, Stored> stored_  // by column
      CTXFS_GUARDED_BY(stored_mutex_);
  uint64_t owners_[2] = {NewOwner(), NewOwner()};  // of blocks, by ColumnFile
};

}  // namespace ctxfs::column_shard
