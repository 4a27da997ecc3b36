// SPDX-License-Identifier: Apache-2.0
//
// ColumnShard, Shard role 8 (docs/formats/columnshard.md).
//
//   RG:NAME      an entry for each row group and column: a chunk (chunk.cc)
//   __schema__   the last entry, JSON: columns, row groups, statistics
//
// Sizes and shapes come from the schema's row counts and the index, so listing
// a column decodes nothing. Reading a chunk that contradicts them is EIO.
#include "core/formats/column_shard/column_shard.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/facts/config_facts.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"

namespace ctxfs::column_shard {
namespace {

constexpr std::string_view kSchemaName = "__schema__";

/// Returns the digits before the first colon of a chunk's name, if any.
std::optional<std::string_view> GroupOf(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0 ||
      name.find_first_not_of("0123456789") != colon) {
    return std::nullopt;
  }
  return name.substr(0, colon);
}

std::string NameOf(const Column& column, ColumnFile file) {
  return column.name + (file == ColumnFile::kValidity ? ".valid" : "");
}

}  // namespace

Status ColumnShard::Load(const ReadContext& context) {
  CTXFS_TRY(shard::ShardContainer::Load(context));
  for (uint32_t i = 0; i < entry_count() && !schema_entry_; ++i) {
    if (EntryName(i) == kSchemaName) schema_entry_ = i;
    has_table_ = has_table_ || !IsOther(i);
  }
  if (!schema_entry_) {
    Warn({"there is no entry '__schema__': no columns are shown"});
    return {};
  }
  const Result<Json> schema = ReadSchema(*schema_entry_, context);
  // Fails on a transient error, because a failed read must not change the tree.
  if (!schema && !schema.error().Permanent()) return schema.error();
  if (!schema) {
    Warn({"__schema__: " + schema.error().what, schema.error().offset,
          Severity::kDamage});
    return {};
  }
  table_ = CTXFS_TRY(ReadColumnTable(*schema, *this, context));
  WarnAll(table_.warnings);
  text_sizes_.reserve(columns().size());
  for (const Column& column : columns()) {
    text_sizes_.emplace_back(column.text() ? column.parts.size() : 0);
  }
  return {};
}

Result<Json> ColumnShard::ReadSchema(uint32_t entry,
                                     const ReadContext& context) const {
  if (EntrySize(entry) > limits::kJsonBytes) {
    return Error{
        Code::kLimit,
        fmt::format("is over the limit of {} bytes", limits::kJsonBytes),
        Record(entry).data_offset};
  }
  const Buffer text = CTXFS_TRY(ReadEntry(entry, context));
  Result<ParsedJson> parsed = ParseJson(AsText(text.span()), context);
  if (parsed) return std::move(parsed->value);
  Error error = std::move(parsed).error();
  error.offset = Record(entry).data_offset;
  return error;
}

void ColumnShard::AddInfo(Json& info, const ReadContext& context) const {
  shard::ShardContainer::AddInfo(info, context);
  info["rows"] = table_.rows;
  info["columns"] = columns().size();
}

std::string_view ColumnShard::EntryPath(uint32_t entry,
                                        std::string& scratch) const {
  const std::string_view path =
      shard::ShardContainer::EntryPath(entry, scratch);
  const std::optional<std::string_view> group = GroupOf(path);
  if (!group) return path;
  scratch = "row_groups/" + std::string(*group) + "/" +
            std::string(path.substr(group->size() + 1));
  return scratch;
}

bool ColumnShard::IsOther(uint32_t entry) const {
  return entry != schema_entry_ && !GroupOf(EntryName(entry).value_or(""));
}

Result<ColumnShard::Stored> ColumnShard::StoredOf(
    size_t column, const ReadContext& context) const {
  {
    const MutexLock lock(stored_mutex_);
    const auto found = stored_.find(column);
    if (found != stored_.end()) return found->second;
  }
  Stored stored;
  const std::vector<ColumnPart>& parts = columns()[column].parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    CTXFS_TRY(CheckAt(context, i));
    const uint32_t entry = parts[i].entry;
    const shard::ShardRecord record = Record(entry);
    std::string codec = "none";
    if (Encoded(record) || Seal(entry) != nullptr) {
      EntryInfo chunk = Describe(entry, context);
      stored.incomplete = stored.incomplete || chunk.incomplete;
      codec = std::move(chunk.codec);
    }
    stored.size += record.disk_size;
    stored.offset = i == 0 ? record.data_offset : kNoOffset;
    if (i != 0 && codec != stored.codec) codec = "mixed";
    stored.codec = std::move(codec);
  }
  if (stored.incomplete) return stored;
  const MutexLock lock(stored_mutex_);
  return stored_.try_emplace(column, std::move(stored)).first->second;
}

Result<std::string> ColumnShard::VerifiedText(
    size_t column, const ReadContext& context) const {
  const std::vector<ColumnPart>& parts = columns()[column].parts;
  std::string text = parts.empty() ? "none" : "yes";
  for (size_t i = 0; i < parts.size(); ++i) {
    CTXFS_TRY(CheckAt(context, i));
    const uint32_t entry = parts[i].entry;
    const Verdict verdict = VerdictOf(entry)->load(std::memory_order_acquire);
    if (verdict == Verdict::kFailed) return std::string("failed");
    if (verdict == Verdict::kPassed || text != "yes") continue;
    const bool verifies = StoredChecksum(Record(entry)) || Seal(entry);
    text = verifies ? "no" : "none";
  }
  return text;
}

EntryInfo ColumnShard::DescribeColumn(size_t index, ColumnFile file,
                                      const ReadContext& context) const {
  const Column& column = columns()[index];
  EntryInfo info;
  info.name = column.name;
  info.kind = "column";
  info.computed = column.parts.empty();
  const Result<Stored> stored = StoredOf(index, context);
  const Result<std::string> verified = VerifiedText(index, context);
  info.incomplete = !stored || !verified || stored->incomplete;
  if (!stored || !verified) return info;
  info.offset = stored->offset;
  info.codec = stored->codec;
  info.stored_size = stored->size;
  info.verified = *verified;
  if (file == ColumnFile::kValidity) {
    info.computed = true;
    info.size = column.rows;
    info.dtype = DTypeName(DType::kBool);
    info.shape = {column.rows};
    return info;
  }
  info.content_type = ColumnTypeName(column.type);
  if (column.text()) return info;
  info.size = column.size();
  info.dtype = DTypeName(ColumnDType(column.type));
  info.shape = column.shape();
  if (column.type == ColumnType::kUint32) {
    info.note = "the reference writer stores zeros for uint32";
  } else if (column.per_row != 1) {
    info.note = "the values of a row follow from the sizes of the chunks";
  }
  return info;
}

/// Lists the values of all columns before all validities, so that a column
/// called "a.valid" keeps its name.
std::shared_ptr<const FileTable> ColumnShard::ColumnFiles() const {
  const auto count = static_cast<uint32_t>(columns().size());
  const auto kind = [count](uint32_t file) {
    return file < count ? ColumnFile::kValues : ColumnFile::kValidity;
  };
  return MakeTable(
      {.placement = {.directory = "columns"},
       .count = 2 * count,
       .path = [this, count, kind](uint32_t file, std::string& scratch)
           -> std::optional<std::string_view> {
         const Column& column = columns()[file % count];
         if (kind(file) == ColumnFile::kValidity && !column.nullable) {
           return std::nullopt;
         }
         return scratch = NameOf(column, kind(file));
       },
       .open =
           [this, count, kind](uint32_t file, const ReadContext& context) {
             return OpenColumn(file % count, kind(file), context);
           },
       .facts =
           [this, count, kind](uint32_t file) {
             const Column& column = columns()[file % count];
             if (kind(file) == ColumnFile::kValidity) {
               return FileFacts{column.rows};
             }
             return column.text() ? FileFacts() : FileFacts{column.size()};
           },
       .describe =
           [this, count, kind](uint32_t file, const ReadContext& context) {
             return DescribeColumn(file % count, kind(file), context);
           },
       .owner = Share(*this)});
}

/// Returns files at the root for the entries that are not part of the table.
std::shared_ptr<const FileTable> ColumnShard::OtherFiles() const {
  const std::shared_ptr<const FileTable> entries = EntryTable();
  return MakeTable(
      {.placement = {.role = Role::kPrimary},
       .count = entries->count(),
       .path = PathsOfEntries(
           entries, [this](uint32_t entry) { return IsOther(entry); }),
       .open =
           [entries](uint32_t entry, const ReadContext& context) {
             return entries->Open(entry, context);
           },
       .facts = [entries](uint32_t entry) { return entries->Facts(entry); },
       .describe =
           [entries](uint32_t entry, const ReadContext& context) {
             return entries->Describe(entry, context);
           },
       .owner = Share(*this)});
}

Container::Tables ColumnShard::Files() const {
  Tables files = shard::ShardContainer::Files();
  if (EntryRole() == Role::kRawEntries) files.push_back(OtherFiles());
  if (schema_entry_) {
    files.push_back(
        AliasFile(Role::kPrimary, "schema.json", EntryTable(), *schema_entry_));
  }
  if (!columns().empty()) files.push_back(ColumnFiles());
  return files;
}

Status ColumnShard::AddOwnFacts(const ReadContext& context,
                                Facts& facts) const {
  AddNamed(Info(context), {{"rows", "rows", "rows"}, {"columns", "columns"}},
           facts);
  for (const Column& column : columns()) {
    if (facts.full()) {
      facts.LeaveOut(1);
      continue;
    }
    facts.Add("column." + column.name,
              column.text() ? std::string("text")
                            : ArrayText(DTypeName(ColumnDType(column.type)),
                                        column.shape()));
  }
  return {};
}

Exports ColumnShard::Export() const {
  Exports exports;
  if (columns().empty()) return exports;
  exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
    return self->Arrays();
  };
  exports.table = [self = Share(*this)] { return self->RowTable(); };
  exports.complete = [self = Share(*this)](const ReadContext& /*context*/) {
    return self->CheckRows();
  };
  return exports;
}

Status ColumnShard::CheckRows() const {
  const Column& first = columns().front();
  const auto other = std::ranges::find_if(
      columns(),
      [&first](const Column& one) { return one.rows != first.rows; });
  if (other == columns().end()) return {};
  return Error{Code::kCorrupt,
               fmt::format("column {} has {} rows, and column {} has {}",
                           Quote(other->name), other->rows, Quote(first.name),
                           first.rows)};
}

std::vector<ArrayInfo> ColumnShard::Arrays() const {
  std::vector<ArrayInfo> arrays;
  for (const ColumnFile file : {ColumnFile::kValues, ColumnFile::kValidity}) {
    for (size_t i = 0; i < columns().size(); ++i) {
      const Column& column = columns()[i];
      const bool valid = file == ColumnFile::kValidity;
      if (valid ? !column.nullable : column.text()) continue;
      if (!AdmitGrowth(arrays)) return arrays;
      arrays.push_back(
          {NameOf(column, file),
           valid ? DType::kBool : ColumnDType(column.type),
           valid ? std::vector<uint64_t>{column.rows} : column.shape(),
           [self = Share(*this), i, file](const ReadContext& request) {
             return self->OpenColumn(i, file, request);
           }});
    }
  }
  return arrays;
}

Table ColumnShard::RowTable() const {
  Table table;
  table.rows = columns().front().rows;
  for (size_t i = 0; i < columns().size(); ++i) {
    const Column& column = columns()[i];
    // If numbers of rows differ, CheckRows fails, so no view shows this table.
    if (column.rows != table.rows) continue;
    TableColumn made;
    made.name = column.name;
    made.kind = column.type == ColumnType::kUuid     ? CellKind::kUuid
                : column.type == ColumnType::kBytes  ? CellKind::kBytes
                : column.type == ColumnType::kString ? CellKind::kText
                                                     : CellKind::kNumber;
    made.dtype = ColumnDType(column.type);
    made.per_row = column.per_row;
    made.list = column.per_row != 1;
    made.open = [self = Share(*this), i](const ReadContext& context) {
      return self->OpenColumn(i, ColumnFile::kValues, context);
    };
    if (column.nullable) {
      made.open_valid = [self = Share(*this), i](const ReadContext& context) {
        return self->OpenColumn(i, ColumnFile::kValidity, context);
      };
    }
    table.columns.push_back(std::move(made));
  }
  return table;
}

}  // namespace ctxfs::column_shard

namespace ctxfs {

extern const Format kColumnShard{.name = "columnshard",
                                 .contents = "columns of a table (ColumnShard)",
                                 .extensions = "cshard",
                                 .golden = "shard-profiles",
                                 .docs = "columnshard",
                                 .probe = &shard::HasRole<shard::kColumnRole>,
                                 .open = &OpenAs<column_shard::ColumnShard>};

}  // namespace ctxfs
