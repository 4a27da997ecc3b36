// SPDX-License-Identifier: Apache-2.0
//
// Vector indexes: Shard role 0x10 (docs/formats/vector_index.md).
//
//   col/meta      JSON: index_type, version, dim, count
//   col/vectors   rows of a u64 id and dim f32, without padding
//   col/deleted   u64 ids
//   meta          the same as col/meta, of an index that is a single entry
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/base/json/json.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/content/strided.h"
#include "core/formats/shard/shard.h"
#include "core/formats/vector_index/limits.h"

namespace ctxfs::vector_index {
namespace {

constexpr uint8_t kVectorRole = 0x10;
constexpr uint64_t kColumnarVersion = 2;  // and later versions

// Rows are read in units of 4 bytes, because ids need not be aligned to 8.
constexpr uint32_t kUnit = 4;
constexpr uint64_t kIdUnits = 2;

/// An array in `views/arrays/`: elements of an entry.
struct Array {
  std::string_view name;
  DType dtype;
  std::vector<uint64_t> shape;
  uint32_t entry;
  StridedLayout layout;

  uint64_t size() const {
    uint64_t bytes = DTypeSize(dtype);
    for (const uint64_t extent : shape) bytes *= extent;
    return bytes;
  }
};

class VectorIndex final : public shard::ShardContainer {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override {
    CTXFS_TRY(shard::ShardContainer::Load(context));
    CTXFS_TRY(FindEntries(context));
    CTXFS_TRY(LoadMeta(context));
    if (!columnar_) return {};
    AddRows();
    AddDeleted();
    return {};
  }

  void AddInfo(Json& info, const ReadContext& context) const override {
    shard::ShardContainer::AddInfo(info, context);
    if (!meta_.is_object()) return;
    info["layout"] = columnar_ ? "columnar" : "monolithic";
    info["index_type"] = TextAt(meta_, "index_type");
    if (dim_) info["dim"] = *dim_;
    if (rows_) info["n"] = *rows_;
    if (deleted_) info["deleted"] = *deleted_;
  }

  Tables Files() const override {
    Tables files = shard::ShardContainer::Files();
    if (!arrays_.empty()) files.push_back(ArrayFiles());
    return files;
  }

  Exports Export() const override {
    Exports exports;
    if (arrays_.empty()) return exports;
    exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
      return self->ArrayInfos();
    };
    // If the rows cannot be read, the file that Exports::bundle_name names
    // would be incomplete.
    if (rows_) exports.bundle_name = "vectors";
    exports.vectors = true;
    return exports;
  }

 private:
  using Found = std::optional<uint32_t>;

  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override {
    facts.AddMember("index_type", meta_, "index_type");
    for (const Array& array : arrays_) {
      facts.Add("array." + std::string(array.name),
                ArrayText(DTypeName(array.dtype), array.shape));
    }
    return context.Check();
  }

  /// Finds the entries with known names; of entries with equal names, the
  /// first.
  Status FindEntries(const ReadContext& context) {
    const std::pair<std::string_view, Found*> wanted[] = {
        {"col/meta", &column_meta_},
        {"col/vectors", &vectors_entry_},
        {"col/deleted", &deleted_entry_},
        {"meta", &single_meta_}};
    for (uint32_t entry = 0; entry < entry_count(); ++entry) {
      CTXFS_TRY(CheckAt(context, entry));
      const std::string_view name = EntryName(entry).value_or("");
      for (const auto& [known, found] : wanted) {
        if (name == known && !*found) *found = entry;
      }
    }
    return {};
  }

  /// Reads `col/meta`, else `meta`. Permanent errors become warnings.
  Status LoadMeta(const ReadContext& context) {
    const Found entry = column_meta_ ? column_meta_ : single_meta_;
    if (!entry) {
      Warn(
          {"there is neither an entry 'col/meta' nor 'meta': no arrays are "
           "shown"});
      return {};
    }
    Result<Json> meta = ReadMeta(*entry, context);
    if (!meta && !meta.error().Permanent()) return meta.error();
    if (!meta) {
      Warn({Label(*entry) + ": " + meta.error().what + ": no arrays are shown",
            Record(*entry).data_offset});
      return {};
    }
    meta_ = *std::move(meta);
    columnar_ = CountAt(meta_, "version").value_or(0) >= kColumnarVersion;
    LoadDimension(*entry);
    return {};
  }

  Result<Json> ReadMeta(uint32_t entry, const ReadContext& context) const {
    if (EntrySize(entry) > kMaxMetaBytes) {
      return OverLimit(fmt::format("its size of {} bytes is", EntrySize(entry)),
                       kMaxMetaBytes);
    }
    const Buffer text = CTXFS_TRY(ReadEntry(entry, context));
    ParsedJson parsed = CTXFS_TRY(ParseJson(AsText(text.span()), context));
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::string_view rest = AsText(text.span()).substr(parsed.length);
    if (!parsed.value.is_object() ||
        rest.find_first_not_of(kBlanks) != std::string_view::npos) {
      return Error{Code::kCorrupt, "it is not one JSON object"};
    }
    return std::move(parsed.value);
  }

  void LoadDimension(uint32_t entry) {
    const uint64_t claim = CountAt(meta_, "dim").value_or(0);
    if (claim >= 1 && claim <= kMaxDimension) {
      dim_ = claim;
      return;
    }
    if (!columnar_) return;
    const Json* dim = MemberAt(meta_, "dim");
    Warn(
        {fmt::format("{}: dim is {}, expected an integer from 1 to {}: ids "
                     "and vectors are not shown",
                     Label(entry), dim == nullptr ? "missing" : ShortText(*dim),
                     kMaxDimension),
         Record(entry).data_offset});
  }

  static std::string ShortText(const Json& value) {
    constexpr size_t kMaxBytes = 40;
    if (value.is_structured())
      return value.is_array() ? "an array" : "an object";
    std::string text = JsonLine(value);
    return text.size() <= kMaxBytes ? text : "a text";
  }

  /// Returns whether `entry` is readable and its size is a multiple of `unit`
  /// bytes; warns if not.
  bool IsWhole(uint32_t entry, uint64_t unit, std::string_view what) {
    const shard::ShardRecord record = Record(entry);
    std::optional<Error> fault = EntryFault(entry);
    if (!fault && Encoded(record))
      fault = TooLarge(record, /*in_memory=*/false);
    if (!fault && EntrySize(entry) % unit != 0) {
      fault = Error{Code::kCorrupt,
                    fmt::format("{} bytes are no whole multiple of {}",
                                EntrySize(entry), unit)};
    }
    if (!fault) return true;
    Warn({fmt::format("{}: {}: {} not shown", Label(entry), fault->what, what),
          record.data_offset});
    return false;
  }

  void AddRows() {
    if (!dim_) return;
    const uint64_t row_units = kIdUnits + *dim_;  // at most 2^20 + 2
    if (!vectors_entry_) {
      rows_ = 0;
    } else if (IsWhole(*vectors_entry_, row_units * kUnit,
                       "ids and vectors are")) {
      const uint64_t rows = EntrySize(*vectors_entry_) / (row_units * kUnit);
      rows_ = rows;
      const auto columns = [&](uint64_t width, uint64_t first) {
        return StridedLayout{.width = kUnit,
                             .shape = {rows, width},
                             .strides = {row_units, 1},
                             .offset = first};
      };
      arrays_.push_back(
          {"ids", DType::kU64, {rows}, *vectors_entry_, columns(kIdUnits, 0)});
      arrays_.push_back({"vectors",
                         DType::kF32,
                         {rows, *dim_},
                         *vectors_entry_,
                         columns(*dim_, kIdUnits)});
    }
    CompareCount();
  }

  /// Warns if the writer declares another number of rows.
  void CompareCount() {
    const Json* count = MemberAt(meta_, "count");
    if (count == nullptr || !rows_ || CountAt(meta_, "count") == rows_) return;
    Warn({fmt::format("count is {}, and there are {} rows", ShortText(*count),
                      *rows_)});
  }

  void AddDeleted() {
    const uint64_t width = DTypeSize(DType::kU64);
    if (!deleted_entry_) {
      deleted_ = 0;
    } else if (IsWhole(*deleted_entry_, width, "it is")) {
      const uint64_t count = EntrySize(*deleted_entry_) / width;
      deleted_ = count;
      arrays_.push_back({"deleted",
                         DType::kU64,
                         {count},
                         *deleted_entry_,
                         {.width = static_cast<uint32_t>(width),
                          .shape = {count},
                          .strides = {1}}});
    }
  }

  Result<Content> OpenArray(size_t index, const ReadContext& context) const {
    const Array& array = arrays_[index];
    const Content entry = CTXFS_TRY(OpenEntry(array.entry, context));
    // An array has fewer than 2^32 pieces, so keys of arrays do not overlap.
    return StridedContent({owner_, uint64_t{index} << 32}, entry, array.layout);
  }

  EntryInfo DescribeArray(size_t index, const Request& request) const {
    const Array& array = arrays_[index];
    EntryInfo info = Describe(array.entry, request);
    info.kind = "array";
    info.name = std::string(array.name);
    info.size = array.size();
    info.checksum.clear();  // covers the whole entry
    info.computed = true;
    info.dtype = DTypeName(array.dtype);
    info.shape = array.shape;
    return info;
  }

  std::shared_ptr<const FileTable> ArrayFiles() const {
    return MakeTable(
        {.placement = {.role = Role::kViews, .directory = "arrays"},
         .count = static_cast<uint32_t>(arrays_.size()),
         .path = [this](uint32_t array, std::string& /*scratch*/)
             -> std::string_view { return arrays_[array].name; },
         .open =
             [this](uint32_t array, const ReadContext& context) {
               return OpenArray(array, context);
             },
         .facts =
             [this](uint32_t array) {
               return FileFacts{arrays_[array].size()};
             },
         .describe =
             [this](uint32_t array, const ReadContext& context) {
               return DescribeArray(array, context);
             },
         .owner = Share(*this)});
  }

  std::vector<ArrayInfo> ArrayInfos() const {
    std::vector<ArrayInfo> infos;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      infos.push_back({std::string(arrays_[i].name), arrays_[i].dtype,
                       arrays_[i].shape,
                       [self = Share(*this), i](const ReadContext& context) {
                         return self->OpenArray(i, context);
                       }});
    }
    return infos;
  }

  const uint64_t owner_ = NewOwner();
  Found column_meta_;
  Found single_meta_;
  Found vectors_entry_;
  Found deleted_entry_;
  Json meta_;  // null if unreadable
  bool columnar_ = false;
  std::optional<uint64_t> dim_;
  std::optional<uint64_t> rows_;
  std::optional<uint64_t> deleted_;
  std::vector<Array> arrays_;  // in view order
};

}  // namespace

}  // namespace ctxfs::vector_index

namespace ctxfs {

extern const Format kVectorIndex{
    .name = "vector_index",
    .contents = "vectors for nearest-neighbour search (DeepData)",
    .extensions = "shard",
    .golden = "shard-profiles",
    .docs = "vector_index",
    .probe = &shard::HasRole<vector_index::kVectorRole>,
    .open = &OpenAs<vector_index::VectorIndex>};

}  // namespace ctxfs
