// SPDX-License-Identifier: Apache-2.0
//
// Reads the schema of a ColumnShard: the chunks of each column, and their
// numbers of rows and values (docs/formats/columnshard.md, sections 1, 3 and
// 4).
#include "core/formats/column_shard/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/formats/column_shard/limits.h"

namespace ctxfs::column_shard {
namespace {

Json StatsOf(const Json& described, uint64_t group) {
  const Json* stats = MemberAt(described, "stats");
  const bool there =
      stats != nullptr && stats->is_array() && group < stats->size();
  return there ? (*stats)[static_cast<size_t>(group)] : Json();
}

class EntryNames {
 public:
  explicit EntryNames(const shard::ShardContainer& shard)
      : shard_(shard), order_(shard.entry_count()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(
        order_.begin(), order_.end(),
        [this](uint32_t a, uint32_t b) { return Name(a) < Name(b); });
  }

  std::optional<uint32_t> Find(std::string_view name) const {
    const auto found = std::lower_bound(
        order_.begin(), order_.end(), name,
        [this](uint32_t a, std::string_view b) { return Name(a) < b; });
    if (found == order_.end() || shard_.EntryName(*found) != name) {
      return std::nullopt;
    }
    return *found;
  }

 private:
  std::string_view Name(uint32_t entry) const {
    return shard_.EntryName(entry).value_or("");
  }

  const shard::ShardContainer& shard_;
  std::vector<uint32_t> order_;
};

/// Returns the number of bytes before a chunk's data.
uint64_t HeadSize(const Column& column, uint64_t rows) {
  return kChunkHeaderSize + (column.nullable ? ValidityBytes(rows) : 0);
}

/// Whether a chunk may have more rows than bytes.
bool MayGrow(ColumnType type) {
  const auto delta = static_cast<uint8_t>(ChunkCoding::kDelta);
  return type == ColumnType::kBool ||
         CodingOf(type, delta) == ChunkCoding::kDelta;
}

/// Returns the number of rows, of one value each, for which a chunk has exactly
/// `size` bytes; nullopt if there is none.
std::optional<uint64_t> RowsThatMake(const Column& column, uint64_t size) {
  const uint64_t width = ColumnTypeWidth(column.type);
  if (width == 0 || size < kChunkHeaderSize) return std::nullopt;
  const uint64_t bytes = size - kChunkHeaderSize;
  // n rows take 8 * width * n bits, n validity bits, and padding to a byte.
  const uint64_t rows =
      column.nullable ? bytes * 8 / (8 * width + 1) : bytes / width;
  if (HeadSize(column, rows) + rows * width != size) return std::nullopt;
  return rows;
}

/// Builds columns from their descriptions.
class ColumnReader {
 public:
  ColumnReader(const Json& schema, const shard::ShardContainer& shard,
               const ReadContext& context)
      : shard_(shard),
        names_(shard),
        context_(context),
        groups_(CountAt(schema, "row_group_count").value_or(0)),
        group_rows_(CountAt(schema, "row_group_size").value_or(UINT32_MAX)) {}

  Result<Column> Read(const Json& described) {
    Column column;
    column.name = TextAt(described, "name");
    if (column.name.empty()) return Corrupt("a column without a name");
    Status read = seen_.insert(column.name).second
                      ? ReadColumn(described, column)
                      : Status(Corrupt("is there twice"));
    if (!read) return Within("column " + Quote(column.name), read.error());
    return column;
  }

  /// Returns the warnings about columns that are shown despite a fault.
  std::vector<Warning> TakeWarnings() { return std::move(warnings_); }

 private:
  Status ReadColumn(const Json& described, Column& column);
  Status AddPart(const Json& described, uint64_t group, Column& column);
  /// For a chunk with too few bytes for its statistics: returns the number of
  /// rows that its size fits exactly. Fails unless the chunk's header has the
  /// same number.
  Result<uint64_t> FewerRows(const Column& column, uint32_t entry,
                             uint64_t counted);
  /// Returns the number of values in a row, from the chunk's size; 0 if any
  /// number fits.
  Result<uint64_t> PerRow(const Column& column, const ColumnPart& part,
                          uint64_t nulls) const;

  const shard::ShardContainer& shard_;
  const EntryNames names_;
  const ReadContext& context_;
  const uint64_t groups_;
  const uint64_t group_rows_;
  uint64_t unread_ = kMaxHeaderBytes;
  // Names of the columns so far. Repeated names are refused, so that an entry
  // belongs to at most one column.
  std::set<std::string, std::less<>> seen_;
  std::vector<Warning> warnings_;
};

Status ColumnReader::ReadColumn(const Json& described, Column& column) {
  const uint64_t number = CountAt(described, "type").value_or(0);
  const std::optional<ColumnType> type = ColumnTypeOf(number);
  if (!type) return Corrupt(fmt::format("type {} is unknown", number));
  column.type = *type;
  const Json* nullable = MemberAt(described, "nullable");
  column.nullable = nullable != nullptr && *nullable == true;
  uint64_t per_row = 0;
  for (uint64_t group = 0; group < groups_; ++group) {
    CTXFS_TRY(AddPart(described, group, column));
    if (column.type != ColumnType::kFloat32) continue;
    const uint64_t nulls =
        column.nullable
            ? CountAt(StatsOf(described, group), "null_count").value_or(0)
            : 0;
    const uint64_t found =
        CTXFS_TRY(PerRow(column, column.parts.back(), nulls));
    if (found != 0 && per_row != 0 && found != per_row) {
      return Corrupt(
          fmt::format("rows of {} values follow rows of {}", found, per_row));
    }
    if (found != 0) per_row = found;
  }
  if (per_row != 0) column.per_row = per_row;
  for (const ColumnPart& part : column.parts) {
    const std::optional<uint64_t> size =
        CheckedMul(part.rows, column.row_size());
    if (!size || *size > limits::kDecodedBytes) {
      return Error{
          Code::kLimit,
          fmt::format("a chunk's values are over the limit of {} bytes",
                      limits::kDecodedBytes)};
    }
  }
  return {};
}

Status ColumnReader::AddPart(const Json& described, uint64_t group,
                             Column& column) {
  const std::string name = fmt::format("{}:{}", group, column.name);
  const std::optional<uint32_t> entry = names_.Find(name);
  if (!entry) return Corrupt("there is no entry " + Quote(name));
  if (std::optional<Error> fault = shard_.EntryFault(*entry)) {
    return *std::move(fault);
  }
  const uint64_t at = shard_.Record(*entry).data_offset;
  const std::optional<uint64_t> counted =
      CountAt(StatsOf(described, group), "count");
  if (!counted || *counted > UINT32_MAX) {
    return Corrupt(fmt::format("no row count for row group {}", group));
  }
  uint64_t rows = *counted;
  if (rows > group_rows_) {
    return Corrupt(
        fmt::format("{} rows in a row group of {}", rows, group_rows_));
  }
  // Computes `least`, the minimum size of a chunk with these rows unless a
  // chunk of this type may have more rows than bytes (MayGrow).
  const uint64_t width = ColumnTypeWidth(column.type);
  const uint64_t head = HeadSize(column, rows);
  const uint64_t least = head + rows * (width == 0 ? 1 : width);
  const uint64_t size = shard_.EntrySize(*entry);
  const bool grows = MayGrow(column.type);
  if (!grows && size < least) {
    const uint64_t fewer = CTXFS_TRY(FewerRows(column, *entry, rows));
    warnings_.push_back(
        {fmt::format("column {}: row group {} has {} rows, not {}",
                     Quote(column.name), group, fewer, rows),
         at});
    rows = fewer;
  }
  if (grows && size < head) {
    return Corrupt(
        fmt::format(
            "a chunk of {} bytes cannot hold the validity bits of {} rows",
            size, rows),
        at);
  }
  if (grows && size < least && rows > kMaxGroupRows) {
    return OverLimit(fmt::format("{} rows in a row group are", rows),
                     kMaxGroupRows, at);
  }
  column.parts.push_back({*entry, static_cast<uint32_t>(rows)});
  column.rows += rows;
  return {};
}

Result<uint64_t> ColumnReader::FewerRows(const Column& column, uint32_t entry,
                                         uint64_t counted) {
  const shard::ShardRecord record = shard_.Record(entry);
  const uint64_t size = shard_.EntrySize(entry);
  const Error refused = Corrupt(
      fmt::format("a chunk of {} bytes cannot hold {} rows", size, counted),
      record.data_offset);
  const std::optional<uint64_t> rows = RowsThatMake(column, size);
  // Reading the chunk's header verifies the whole chunk.
  const uint64_t cost = std::max(size, record.disk_size);
  if (!rows || cost > unread_) return refused;
  unread_ -= cost;
  const Content chunk = CTXFS_TRY(shard_.OpenEntry(entry, context_));
  std::byte head[kChunkHeaderSize];
  CTXFS_TRY(ReadInto(chunk, 0, head, context_));
  if (LoadLe<uint32_t>(head + 1) != *rows) return refused;
  return *rows;
}

Result<uint64_t> ColumnReader::PerRow(const Column& column,
                                      const ColumnPart& part,
                                      uint64_t nulls) const {
  const uint64_t width = ColumnTypeWidth(column.type);
  // AddPart has checked that the entry is not shorter than its head.
  const uint64_t data =
      shard_.EntrySize(part.entry) - HeadSize(column, part.rows);
  const uint64_t values = data / width;
  // A null row stores one value, even if other rows have several.
  if (nulls > part.rows || values == part.rows || nulls == part.rows) return 0;
  const uint64_t valid = part.rows - nulls;
  if (data % width != 0 || values < nulls || (values - nulls) % valid != 0) {
    return Corrupt(fmt::format("{} bytes are not a whole number of values for "
                               "each of {} valid rows",
                               data, valid),
                   shard_.Record(part.entry).data_offset);
  }
  return (values - nulls) / valid;
}

}  // namespace

std::vector<uint64_t> Column::shape() const {
  if (type == ColumnType::kUuid) return {rows, ColumnTypeWidth(type)};
  if (per_row != 1) return {rows, per_row};
  return {rows};
}

Result<ColumnTable> ReadColumnTable(const Json& schema,
                                    const shard::ShardContainer& shard,
                                    const ReadContext& context) {
  ColumnTable table;
  table.rows = CountAt(schema, "row_count").value_or(0);
  const Json* columns = MemberAt(schema, "columns");
  if (!CountAt(schema, "row_group_count") || columns == nullptr ||
      !columns->is_array()) {
    table.warnings.push_back(
        {"__schema__ has no row_group_count or no columns"});
    return table;
  }
  if (columns->size() > kMaxColumns) {
    table.warnings.push_back(
        {fmt::format("__schema__ has {} columns, over the limit of {}",
                     columns->size(), kMaxColumns)});
    return table;
  }
  CTXFS_TRY(HeapAllowance::Admit(sizeof(uint32_t) * shard.entry_count()));
  ColumnReader reader(schema, shard, context);
  for (const Json& described : *columns) {
    CTXFS_TRY(context.Check());
    Result<Column> column = reader.Read(described);
    for (Warning& warning : reader.TakeWarnings()) {
      table.warnings.push_back(std::move(warning));
    }
    // Fails on a transient error, because a failed read must not change the
    // tree.
    if (!column && !column.error().Permanent()) return column.error();
    if (!column) {
      table.warnings.push_back({column.error().what + ": not shown",
                                column.error().offset, Severity::kDamage});
      continue;
    }
    if (column->rows != table.rows) {
      table.warnings.push_back(
          {fmt::format("column {} has {} rows, but row_count is {}",
                       Quote(column->name), column->rows, table.rows)});
    }
    table.columns.push_back(std::move(*column));
  }
  return table;
}

}  // namespace ctxfs::column_shard
