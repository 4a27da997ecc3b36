// SPDX-License-Identifier: Apache-2.0
//
// ColumnShard, Shard role 8 (docs/columnshard.md).
//
//   RG:NAME      an entry a row group and column: a chunk (column_chunk.cc)
//   __schema__   the last entry, JSON: columns, row groups, statistics
//
// Sizes and shapes follow from the schema's row counts and the index, so that
// nothing is decoded to list a column; a chunk that says otherwise is EIO.
#include "core/formats/column_shard.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/base/limits.h"
#include "core/base/text.h"

namespace ctxfs {
namespace {

constexpr std::string_view kSchemaName = "__schema__";
constexpr uint8_t kRole = 8;
constexpr size_t kRoleAt = 5;

bool Probe(Bytes head) {
  return AsText(head).starts_with("SHRD") && head.size() > kRoleAt &&
         std::to_integer<uint8_t>(head[kRoleAt]) == kRole;
}

Error Corrupt(std::string what, uint64_t at = kNoOffset) {
  return {Code::kCorrupt, std::move(what), at};
}

/// The unsigned number at `key`, or nothing.
std::optional<uint64_t> Number(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  return found->get<uint64_t>();
}

/// A column's name, or nothing.
std::string NameOf(const Json& described) {
  if (!described.is_object()) return {};
  const auto name = described.find("name");
  if (name == described.end() || !name->is_string()) return {};
  return name->get<std::string>();
}

/// The digits before the first colon of a chunk's name, or nothing.
std::optional<std::string_view> GroupOf(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0 ||
      name.find_first_not_of("0123456789") != colon) {
    return std::nullopt;
  }
  return name.substr(0, colon);
}

/// Values of a chunk stored as byte planes, put together again.
class SplitValues final : public Transform {
 public:
  SplitValues(Range planes, uint64_t values, uint64_t width)
      : planes_(std::move(planes)), values_(values), width_(width) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 BlockCache& cache) const override {
    if (out.empty()) return {};
    const uint64_t first = offset / width_;
    const uint64_t last = (offset + out.size() - 1) / width_;
    Buffer plane(static_cast<size_t>(last - first + 1));
    for (uint64_t j = 0; j < width_; ++j) {
      const uint64_t at = planes_.offset + j * values_ + first;
      Status read = planes_.gate != nullptr
                        ? planes_.gate->Read(at, plane.span(), cache)
                        : planes_.source->ReadAt(at, plane.span());
      if (!read) return read;
      for (uint64_t i = first; i <= last; ++i) {
        const uint64_t byte = i * width_ + j;
        if (byte < offset || byte - offset >= out.size()) continue;
        out[static_cast<size_t>(byte - offset)] =
            plane.data()[static_cast<size_t>(i - first)];
      }
    }
    return {};
  }

  Status Verify(BlockCache& cache) const override {
    return planes_.gate != nullptr ? planes_.gate->Pass(cache) : Status();
  }

 private:
  Range planes_;
  uint64_t values_;
  uint64_t width_;
};

}  // namespace

class ColumnShard::Names {
 public:
  explicit Names(const ColumnShard& shard)
      : shard_(shard), order_(shard.entry_count()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(
        order_.begin(), order_.end(),
        [this](uint32_t a, uint32_t b) { return NameOf(a) < NameOf(b); });
  }

  /// The first entry of that name.
  std::optional<uint32_t> Find(std::string_view name) const {
    const auto found = std::lower_bound(
        order_.begin(), order_.end(), name,
        [this](uint32_t a, std::string_view b) { return NameOf(a) < b; });
    if (found == order_.end() || shard_.EntryName(*found) != name) {
      return std::nullopt;
    }
    return *found;
  }

 private:
  std::string_view NameOf(uint32_t entry) const {
    return shard_.EntryName(entry).value_or("");
  }

  const ColumnShard& shard_;
  std::vector<uint32_t> order_;
};

/// A chunk decoded: its values, its rows as text, or its validity.
class ColumnBlock final : public Block {
 public:
  ColumnBlock(std::shared_ptr<const ColumnShard> shard, size_t column,
              size_t part, ColumnShard::Kind kind)
      : Block({shard->owners_[static_cast<size_t>(kind)],
               uint64_t{column} << 32 | part}),
        shard_(std::move(shard)),
        column_(shard_->columns_[column]),
        part_(column_.parts[part]),
        kind_(kind) {}

  uint64_t cost() const override {
    return shard_->Record(part_.entry).disk_size +
           shard_->EntrySize(part_.entry) + size();
  }

  bool verifies() const override {
    return static_cast<bool>(shard_->ExpectedChecksum(part_.entry));
  }

  Status CheckUnchanged() const override {
    return shard_->source()->CheckUnchanged();
  }

  Result<Buffer> Produce() const override {
    Result<Buffer> payload = shard_->ReadEntry(part_.entry);
    if (!payload) return payload;
    Result<Buffer> made = Make(payload->span());
    if (made) return made;
    Error error = std::move(made).error();
    error.what = "column " + Quote(column_.name) + ": " + error.what;
    error.offset = shard_->Record(part_.entry).data_offset;
    return error;
  }

 private:
  /// Bytes it will have; not known for text.
  uint64_t size() const {
    if (kind_ == ColumnShard::Kind::kValidity) return part_.rows;
    return column_.text() ? 0 : part_.rows * column_.row_size();
  }

  Result<Buffer> Make(Bytes payload) const {
    const Result<Chunk> chunk =
        ParseChunk(payload, column_.type, column_.nullable);
    if (!chunk) return chunk.error();
    if (chunk->count != part_.rows) {
      return Corrupt("a chunk of " + std::to_string(chunk->count) +
                     " rows, but the schema says " +
                     std::to_string(part_.rows));
    }
    if (kind_ == ColumnShard::Kind::kValues && column_.text()) {
      return DecodeLines(*chunk);
    }
    Buffer made(static_cast<size_t>(size()));
    if (kind_ == ColumnShard::Kind::kValidity) {
      DecodeValidity(*chunk, made.span());
      return made;
    }
    Status decoded = DecodeFixed(*chunk, column_.per_row, made.span());
    if (!decoded) return std::move(decoded).error();
    return made;
  }

  std::shared_ptr<const ColumnShard> shard_;
  const ColumnShard::Column& column_;
  ColumnShard::ColumnPart part_;
  ColumnShard::Kind kind_;
};

Status ColumnShard::Load() {
  if (Status loaded = ShardContainer::Load(); !loaded) return loaded;
  const Names names(*this);
  schema_entry_ = names.Find(kSchemaName);
  if (!schema_entry_) {
    Warn({"there is no entry '__schema__': no columns are shown"});
    return {};
  }
  const Result<Json> schema = ReadSchema(*schema_entry_);
  if (!schema) {
    Warn({"__schema__: " + schema.error().what, schema.error().offset});
    return {};
  }
  ReadColumns(*schema, names);
  return {};
}

Result<Json> ColumnShard::ReadSchema(uint32_t entry) const {
  if (EntrySize(entry) > limits::kJsonBytes) {
    return Error{Code::kLimit, "is over the limit of " +
                                   std::to_string(limits::kJsonBytes) +
                                   " bytes"};
  }
  Result<Buffer> text = ReadEntry(entry);
  if (!text) return std::move(text).error();
  Result<ParsedJson> parsed = ParseJson(AsText(text->span()));
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.offset = Record(entry).data_offset;
    return error;
  }
  return std::move(parsed->value);
}

void ColumnShard::ReadColumns(const Json& schema, const Names& names) {
  const std::optional<uint64_t> groups = Number(schema, "row_group_count");
  rows_ = Number(schema, "row_count").value_or(0);
  const auto columns =
      schema.is_object() ? schema.find("columns") : schema.end();
  if (!groups || columns == schema.end() || !columns->is_array()) {
    Warn({"__schema__ has no row_group_count or no columns"});
    return;
  }
  if (columns->size() > limits::kColumns) {
    Warn({"__schema__ has " + std::to_string(columns->size()) +
          " columns, over the limit of " + std::to_string(limits::kColumns)});
    return;
  }
  // An entry belongs to one column: so no more is kept than there are entries.
  std::set<std::string, std::less<>> seen;
  for (const Json& described : *columns) {
    const std::string name = NameOf(described);
    Result<Column> column =
        seen.insert(name).second
            ? ReadColumn(described, *groups, names)
            : Corrupt("column " + Quote(name) + ": is there twice");
    if (!column) {
      Warn({column.error().what + ": not shown", column.error().offset});
      continue;
    }
    if (column->rows != rows_) {
      Warn({"column " + Quote(column->name) + " has " +
            std::to_string(column->rows) + " rows, but row_count is " +
            std::to_string(rows_)});
    }
    columns_.push_back(std::move(*column));
  }
}

Result<ColumnShard::Column> ColumnShard::ReadColumn(const Json& described,
                                                    uint64_t groups,
                                                    const Names& names) const {
  Column column;
  column.name = NameOf(described);
  if (column.name.empty()) return Corrupt("a column without a name");
  const auto fail = [&column](Error error) {
    error.what = "column " + Quote(column.name) + ": " + error.what;
    return error;
  };
  const uint64_t number = Number(described, "type").value_or(0);
  const std::optional<ColumnType> type = ColumnTypeOf(number);
  if (!type)
    return fail(Corrupt("type " + std::to_string(number) + " is unknown"));
  column.type = *type;
  const auto nullable = described.find("nullable");
  column.nullable = nullable != described.end() && nullable->is_boolean() &&
                    nullable->get<bool>();
  uint64_t per_row = 0;
  for (uint64_t group = 0; group < groups; ++group) {
    if (Status read = ReadPart(described, group, names, column); !read) {
      return fail(std::move(read).error());
    }
    if (column.type != ColumnType::kFloat32) continue;
    const Json& stats = described["stats"][static_cast<size_t>(group)];
    const Result<uint64_t> found =
        PerRow(column, column.parts.back(),
               column.nullable ? Number(stats, "null_count").value_or(0) : 0);
    if (!found) return fail(found.error());
    if (*found != 0 && per_row != 0 && *found != per_row) {
      return fail(Corrupt("rows of " + std::to_string(*found) +
                          " values follow rows of " + std::to_string(per_row)));
    }
    if (*found != 0) per_row = *found;
  }
  if (per_row != 0) column.per_row = per_row;
  for (const ColumnPart& part : column.parts) {
    const std::optional<uint64_t> size =
        CheckedMul(part.rows, column.row_size());
    if (!size || *size > limits::kDecodedBytes) {
      return fail({Code::kLimit, "a chunk's values are over the limit of " +
                                     std::to_string(limits::kDecodedBytes) +
                                     " bytes"});
    }
  }
  return column;
}

Status ColumnShard::ReadPart(const Json& described, uint64_t group,
                             const Names& names, Column& column) const {
  const std::string name = std::to_string(group) + ":" + column.name;
  const std::optional<uint32_t> entry = names.Find(name);
  if (!entry) return Corrupt("there is no entry " + Quote(name));
  if (std::optional<Error> fault = EntryFault(*entry)) {
    return *std::move(fault);
  }
  const uint64_t at = Record(*entry).data_offset;
  const auto stats = described.find("stats");
  const std::optional<uint64_t> rows =
      stats != described.end() && stats->is_array() && group < stats->size()
          ? Number((*stats)[static_cast<size_t>(group)], "count")
          : std::nullopt;
  if (!rows || *rows > UINT32_MAX) {
    return Corrupt("no row count for row group " + std::to_string(group));
  }
  // The bytes that so many rows take at the least.
  const uint64_t width = ColumnTypeWidth(column.type);
  const bool may_grow =
      column.type == ColumnType::kBool ||
      CodingOf(column.type, static_cast<uint8_t>(ChunkCoding::kDelta)) ==
          ChunkCoding::kDelta;
  const uint64_t head =
      kChunkHeaderSize + (column.nullable ? ValidityBytes(*rows) : 0);
  const uint64_t least = head + *rows * (width == 0 ? 1 : width);
  const uint64_t size = EntrySize(*entry);
  if (size < (may_grow ? head : least)) {
    return Corrupt("a chunk of " + std::to_string(size) +
                       " bytes cannot hold " + std::to_string(*rows) + " rows",
                   at);
  }
  if (size<least&& * rows> limits::kColumnGroupRows) {
    return Error{Code::kLimit,
                 std::to_string(*rows) +
                     " rows in a row group are over the "
                     "limit of " +
                     std::to_string(limits::kColumnGroupRows),
                 at};
  }
  column.parts.push_back({*entry, static_cast<uint32_t>(*rows)});
  column.rows += *rows;
  return {};
}

Result<uint64_t> ColumnShard::PerRow(const Column& column,
                                     const ColumnPart& part,
                                     uint64_t nulls) const {
  const uint64_t width = ColumnTypeWidth(column.type);
  const uint64_t head =
      kChunkHeaderSize + (column.nullable ? ValidityBytes(part.rows) : 0);
  const uint64_t data = EntrySize(part.entry) - head;  // ReadPart has looked
  const uint64_t values = data / width;
  // A null row holds one value, whatever the others hold.
  if (nulls > part.rows || values == part.rows || nulls == part.rows) return 0;
  const uint64_t valid = part.rows - nulls;
  if (data % width != 0 || values < nulls || (values - nulls) % valid != 0) {
    return Corrupt(std::to_string(data) +
                       " bytes are no whole number of "
                       "values for each of " +
                       std::to_string(valid) + " valid rows",
                   Record(part.entry).data_offset);
  }
  return (values - nulls) / valid;
}

Json ColumnShard::Info() const {
  Json info = ShardContainer::Info();
  info["rows"] = rows_;
  info["columns"] = columns_.size();
  return info;
}

std::optional<std::string> ColumnShard::EntryPath(uint32_t entry) const {
  const std::optional<std::string_view> name = EntryName(entry);
  if (!name) return std::nullopt;
  const std::optional<std::string_view> group = GroupOf(*name);
  if (!group) return std::nullopt;
  return "row_groups/" + std::string(*group) + "/" +
         std::string(name->substr(group->size() + 1));
}

std::vector<uint64_t> ColumnShard::ShapeOf(const Column& column) const {
  if (column.type == ColumnType::kUuid) {
    return {column.rows, ColumnTypeWidth(column.type)};
  }
  if (column.per_row != 1) return {column.rows, column.per_row};
  return {column.rows};
}

EntryInfo ColumnShard::DescribeColumn(const Column& column, Kind kind) const {
  EntryInfo info;
  info.name = column.name;
  info.kind = "column";
  info.verified = "none";
  for (const ColumnPart& part : column.parts) {
    const EntryInfo chunk = Describe(part.entry);
    if (info.stored_size == 0) {
      info.offset = chunk.offset;
      info.codec = chunk.codec;
      info.verified = chunk.verified;
    }
    info.stored_size += chunk.stored_size;
    if (info.codec != chunk.codec) info.codec = "mixed";
    // The worst of them: failed, then not yet, then none.
    if (chunk.verified == "failed" || info.verified == "yes") {
      info.verified = chunk.verified;
    }
  }
  if (kind == Kind::kValidity) {
    info.size = column.rows;
    info.dtype = DTypeName(DType::kBool);
    info.shape = {column.rows};
    return info;
  }
  info.content_type = ColumnTypeName(column.type);
  if (column.text()) return info;
  info.size = column.rows * column.row_size();
  info.dtype = DTypeName(ColumnDType(column.type));
  info.shape = ShapeOf(column);
  if (column.type == ColumnType::kUint32) {
    info.note = "the reference writer stores zeros for uint32";
  } else if (column.per_row != 1) {
    info.note = "the values of a row are worked out from the chunks' sizes";
  }
  return info;
}

Result<bool> ColumnShard::AppendStored(const Column& column,
                                       const ColumnPart& part,
                                       Content& content) const {
  const ShardRecord record = Record(part.entry);
  const bool ragged = column.per_row != 1 && column.nullable;
  if (record.compressed() || column.text() || ragged) return false;
  // Its header alone tells how the rest is coded. Should these bytes be
  // damaged, the gate before the rest fails.
  std::byte head[kChunkHeaderSize];
  if (Status read = source()->ReadAt(record.data_offset, head); !read) {
    return std::move(read).error();
  }
  const auto coding = CodingOf(column.type, std::to_integer<uint8_t>(head[0]));
  const uint64_t values = part.rows * column.per_row;
  const uint64_t at = record.data_offset + kChunkHeaderSize +
                      (column.nullable ? ValidityBytes(part.rows) : 0);
  const uint64_t end = record.data_offset + record.disk_size;
  const uint64_t width = ColumnTypeWidth(column.type);
  const bool sound = LoadLe<uint32_t>(head + 1) == part.rows &&
                     InBounds(at, values * width, end);
  if (!sound) return false;  // decoding says what is wrong
  Range stored{source(), at, GateOf(part.entry)};
  if (coding == ChunkCoding::kPlain) {
    content.Append(std::move(stored), values * width);
    return true;
  }
  const uint64_t planes = (end - at) / width;
  if (coding != ChunkCoding::kByteStreamSplit || (end - at) % width != 0) {
    return false;
  }
  content.Append(
      Computed{std::make_shared<SplitValues>(std::move(stored), planes, width),
               0},
      values * width);
  return true;
}

Result<Content> ColumnShard::OpenColumn(size_t index, Kind kind,
                                        BlockCache& cache) const {
  const Column& column = columns_[index];
  const bool values = kind == Kind::kValues;
  Content content;
  for (size_t i = 0; i < column.parts.size(); ++i) {
    const ColumnPart& part = column.parts[i];
    if (values) {
      const Result<bool> stored = AppendStored(column, part, content);
      if (!stored) return stored.error();
      if (*stored) continue;
    }
    auto block = std::make_shared<const ColumnBlock>(Self(), index, i, kind);
    uint64_t size = values ? part.rows * column.row_size() : part.rows;
    if (values && column.text()) {
      const Result<BlockCache::Pinned> text = cache.Get(*block);
      if (!text) return text.error();
      size = (*text)->size();
    }
    content.Append(Decoded{std::move(block), 0}, size);
  }
  return content;
}

OwnFile ColumnShard::FileOf(size_t index, Kind kind) const {
  const Column& column = columns_[index];
  const bool valid = kind == Kind::kValidity;
  OwnFile file;
  file.path = "columns/" + column.name + (valid ? ".valid" : "");
  file.open = [self = Self(), index, kind](BlockCache& cache) {
    return self->OpenColumn(index, kind, cache);
  };
  if (valid || !column.text()) {
    file.size = valid ? column.rows : column.rows * column.row_size();
  }
  file.describe = [self = Self(), index, kind] {
    return self->DescribeColumn(self->columns_[index], kind);
  };
  return file;
}

std::vector<OwnFile> ColumnShard::OwnFiles() const {
  std::vector<OwnFile> files = ShardContainer::OwnFiles();
  if (schema_entry_) {
    OwnFile schema;
    schema.path = "schema.json";
    schema.open = [self = Self()](BlockCache& /*cache*/) {
      return self->OpenEntry(*self->schema_entry_);
    };
    schema.size = EntrySize(*schema_entry_);
    files.push_back(std::move(schema));
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    files.push_back(FileOf(i, Kind::kValues));
  }
  // These come last: "a.valid" may be a column's name.
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].nullable) files.push_back(FileOf(i, Kind::kValidity));
  }
  return files;
}

std::vector<ArrayInfo> ColumnShard::Arrays() const {
  std::vector<ArrayInfo> arrays;
  for (const Kind kind : {Kind::kValues, Kind::kValidity}) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      const bool valid = kind == Kind::kValidity;
      if (valid ? !column.nullable : column.text()) continue;
      ArrayInfo array;
      array.name = "columns/" + column.name + (valid ? ".valid" : "");
      array.dtype = valid ? DType::kBool : ColumnDType(column.type);
      array.shape =
          valid ? std::vector<uint64_t>{column.rows} : ShapeOf(column);
      array.open = [self = Self(), i, kind](BlockCache& cache) {
        return self->OpenColumn(i, kind, cache);
      };
      arrays.push_back(std::move(array));
    }
  }
  return arrays;
}

extern const Format kColumnShard;
const Format kColumnShard{"columnshard", &Probe, &OpenShard<ColumnShard>};

}  // namespace ctxfs
