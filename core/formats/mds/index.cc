// SPDX-License-Identifier: Apache-2.0
//
// index.json (docs/formats/mds.md, section 2):
//   {"version": 2, "shards": [{"column_names": [...], "raw_data": {...}}]}
#include "core/formats/mds/index.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/json/json_events.h"
#include "core/base/json/json_head.h"
#include "core/base/text/text.h"
#include "core/formats/mds/limits.h"

namespace ctxfs::mds {
namespace {

constexpr uint64_t kVersion = 2;
constexpr std::string_view kZipNames[] = {"",       "br",   "bz2",    "gz",
                                          "snappy", "zstd", "unknown"};

/// Returns the compression that "ALGO" or "ALGO:LEVEL" names.
ZipKind ZipNamed(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto* const end = std::end(kZipNames) - 1;
  const auto* const found = std::find(std::begin(kZipNames) + 1, end, name);
  return static_cast<ZipKind>(found - std::begin(kZipNames));
}

constexpr const char* kColumnLists[] = {"column_names", "column_encodings",
                                        "column_sizes"};
constexpr const char* kRequired[] = {"compression", "raw_data", "samples",
                                     "version", "zip_data"};

/// Builds an Index from JSON events. Only the JSON of the shard being read is
/// in memory.
class IndexReader final : public JsonEvents {
 public:
  void OnKey(std::string& key) override { key_ = std::move(key); }
  void OnScalar(const JsonScalar& scalar) override { Place(AsJson(scalar)); }

  void OnOpen(bool is_array) override {
    if (depth() >= kMaxIndexDepth) return Fail(Bad("nested too deep"));
    const bool shards = depth() == 1 && key_ == "shards";
    if (shards && shards_ != nullptr) return Fail(Bad("shards come twice"));
    open_.push_back(Place(is_array ? Json::array() : Json::object()));
    if (shards) shards_ = open_.back();
  }

  void OnClose() override {
    open_.pop_back();
    if (depth() != 2 || open_.back() != shards_) return;
    if (shards_->size() != 1) return Fail(Bad("a shard is no object"));
    Status added = AddShard(shards_->back());
    if (!added) Fail(std::move(added).error());
    shards_->clear();
  }

  Result<Index> Take() {
    if (shards_ == nullptr || !shards_->is_array() || !shards_->empty()) {
      return Bad("shards is no list of objects");
    }
    CTXFS_TRY(CheckVersion(root_));
    index_.columns = CTXFS_TRY(MakeColumns(of_columns_ ? columns_ : first_));
    CTXFS_TRY(CheckRoom());
    return std::move(index_);
  }

 private:
  Error Bad(const std::string& why) const {
    return {Code::kCorrupt, "index: " + why, at()};
  }

  Json* Place(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    auto& items = parent.get_ref<Json::array_t&>();
    // If memory is refused, the value is dropped, and the next event fails.
    if (items.empty() || AdmitGrowth(items)) items.push_back(std::move(value));
    return &items.back();
  }

  Status CheckVersion(const Json& of) const {
    const std::optional<uint64_t> version = CountAt(of, "version");
    if (!version) return Bad("version is no number");
    if (*version == kVersion) return {};
    return Error{Code::kVersion,
                 fmt::format("version: {} is not {}", *version, kVersion),
                 at()};
  }

  Status CheckFormat(const Json& shard) const {
    const std::string format = TextAt(shard, "format");
    if (format == "mds") return {};
    if (format.empty()) return Bad("a shard has no format");
    return Error{Code::kNotContainer,
                 "not a container: the shards are of the format " +
                     Quote(format) +
                     "; the package streaming reads its data set",
                 at()};
  }

  Status AddShard(Json& json) {
    CTXFS_TRY(CheckFormat(json));
    for (const char* const key : kRequired) {
      if (!json.contains(key)) return Bad(Quote(key) + " is missing");
    }
    CTXFS_TRY(CheckVersion(json));
    ShardRecord shard;
    CTXFS_TRY(SetFiles(json, shard));
    CTXFS_TRY(SetSamples(json, shard));
    CTXFS_TRY(CompareColumns(json, shard));
    if (index_.shards.size() == kMaxShards) {
      return OverLimit("limit: more shards than", kMaxShards, at());
    }
    index_.samples += shard.samples;
    CTXFS_TRY(AdmitGrowth(index_.shards));
    index_.shards.push_back(std::move(shard));
    return {};
  }

  Status SetFiles(const Json& json, ShardRecord& shard) {
    const Json& compression = json["compression"];
    if (!compression.is_null() && !compression.is_string()) {
      return Bad("compression is no text");
    }
    const std::string name = TextAt(json, "compression");
    if (!name.empty()) shard.zip_kind = ZipNamed(name);
    if (index_.shards.empty()) index_.compression = name;
    shard.raw = CTXFS_TRY(FileOf(json["raw_data"]));
    const Json& zip = json["zip_data"];
    if (!zip.is_null()) shard.zip = CTXFS_TRY(FileOf(zip));
    return {};
  }

  Result<StoredFile> FileOf(const Json& json) {
    const std::optional<uint64_t> bytes = CountAt(json, "bytes");
    StoredFile file{TextAt(json, "basename"), bytes.value_or(0), {}};
    if (file.name.empty()) return Bad("a file of a shard has no basename");
    if (!bytes) return Bad("bytes is no count");
    const Json* const hashes = MemberAt(json, "hashes");
    if (hashes == nullptr) return file;
    if (!hashes->is_object()) return Bad("hashes is no object");
    for (const auto& [name, hex] : hashes->items()) {
      if (!hex.is_string()) return Bad("a hash is no text");
      AddHash(name, hex.get<std::string>(), file.hashes);
    }
    return file;
  }

  void AddHash(const std::string& name, std::string hex,
               std::vector<ExpectedHash>& hashes) {
    constexpr size_t kMaxNames = 16;
    std::vector<std::string>& unknown = index_.unknown_hashes;
    if (const std::optional<HashAlgorithm> algorithm = HashNamed(name)) {
      const auto faster = std::ranges::upper_bound(hashes, *algorithm, {},
                                                   &ExpectedHash::algorithm);
      hashes.insert(faster, {*algorithm, std::move(hex)});
    } else if (unknown.size() < kMaxNames &&
               std::ranges::find(unknown, name) == unknown.end()) {
      unknown.push_back(name);
    }
  }

  Status SetSamples(const Json& json, ShardRecord& shard) {
    const std::optional<uint64_t> samples = CountAt(json, "samples");
    if (!samples) return Bad("samples is no count");
    const uint64_t bytes = shard.raw.bytes;
    const uint64_t most =
        std::min(bytes < 8 ? 0 : (bytes - 8) / 4, kMaxSamples - index_.samples);
    if (*samples > most) {
      return OverLimit(
          fmt::format("limit: {} samples of a shard are", *samples), most,
          at());
    }
    shard.first = index_.samples;
    shard.samples = static_cast<uint32_t>(*samples);
    return {};
  }

  /// Stores the columns of the first shard with samples, and compares those of
  /// later shards with them.
  Status CompareColumns(Json& json, ShardRecord& shard) {
    Json lists = Json::array();
    for (const char* const key : kColumnLists) {
      lists.push_back(std::move(json[key]));
    }
    if (of_columns_ && lists == columns_) return {};
    CTXFS_TRY(MakeColumns(lists));
    if (index_.shards.empty()) first_ = lists;
    if (shard.samples == 0) return {};
    shard.other_columns = of_columns_;
    if (!of_columns_) columns_ = std::move(lists);
    of_columns_ = true;
    return {};
  }

  Result<std::vector<Column>> MakeColumns(const Json& lists) const {
    std::vector<Column> columns;
    if (lists.is_null()) return columns;  // there are no shards
    for (const Json& list : lists) {
      if (!list.is_array()) return Bad("a list of columns is none");
      if (list.size() > kMaxColumns) {
        return OverLimit("limit: more columns than", kMaxColumns, at());
      }
    }
    const Json& names = lists[0];
    if (names.size() != lists[1].size() || names.size() != lists[2].size()) {
      return Error{Code::kCorrupt,
                   fmt::format("columns: {} names, {} encodings and {} sizes",
                               names.size(), lists[1].size(), lists[2].size())};
    }
    std::unordered_set<std::string> known;
    for (size_t i = 0; i < names.size(); ++i) {
      columns.push_back(
          CTXFS_TRY(ColumnOf(names[i], lists[1][i], lists[2][i])));
      if (!known.insert(columns.back().name).second) {
        return Error{Code::kCorrupt, "columns: the name " +
                                         Quote(columns.back().name) + " twice"};
      }
    }
    return columns;
  }

  Result<Column> ColumnOf(const Json& name, const Json& encoding,
                          const Json& size) const {
    if (!name.is_string() || !encoding.is_string()) {
      return Bad("a name or an encoding of a column is no text");
    }
    if (size.is_null()) return MakeColumn(name, encoding, std::nullopt);
    if (!size.is_number_unsigned()) return Bad("a size is no count");
    return MakeColumn(name, encoding, size.get<uint64_t>());
  }

  /// Fails if a shard is too small for its samples. Otherwise an index could
  /// claim a column that is larger than all shards.
  Status CheckRoom() {
    uint64_t sample = 4;  // minimum bytes of a sample and its offset
    for (const Column& column : index_.columns) {
      if (column.size == 0) ++index_.varying;
      const uint64_t size = column.size == 0 ? 4 : column.size;
      sample = CheckedAdd(sample, size).value_or(UINT64_MAX);
      if (CheckedMul(size, index_.samples)) continue;
      return OverLimit("limit: bytes of a column are", UINT64_MAX);
    }
    for (const ShardRecord& shard : index_.shards) {
      if (shard.samples == 0 || shard.other_columns) continue;
      const auto all = CheckedMul(sample, shard.samples);
      if (all && *all <= shard.raw.bytes - 8) continue;
      return OverLimit(fmt::format("limit: {} samples of the shard {} are",
                                   shard.samples, Quote(shard.raw.name)),
                       (shard.raw.bytes - 8) / sample);
    }
    return {};
  }

  Index index_;
  Json root_;
  std::vector<Json*> open_;  // the enclosing values, outermost first
  std::string key_;
  Json* shards_ = nullptr;   // in root_
  Json columns_;             // kColumnLists
  Json first_;               // those of the first shard
  bool of_columns_ = false;  // whether columns_ is set
};

}  // namespace

std::string_view ZipName(ZipKind kind) {
  return kZipNames[static_cast<size_t>(kind)];
}

bool StartsIndex(Bytes head) {
  if (AsText(head).find("\"shards\"") == std::string_view::npos) return false;
  const auto members = JsonHead(AsText(head));
  const auto format = members.find("shards//format");
  if (format != members.end()) return format->second == "mds";
  return members.contains("shards//column_encodings");
}

Result<Index> ParseIndex(std::string_view text, const ReadContext& context) {
  IndexReader reader;
  Result<size_t> read = ReadJson(text, JsonDialect::kPython,
                                 JsonExtent::kWholeText, reader, context);
  if (!read) {
    Error error = std::move(read).error();
    if (error.code == Code::kCorrupt && !error.what.starts_with("index: ") &&
        !error.what.starts_with("columns: ")) {
      error.what = "index: " + error.what;
    }
    return error;
  }
  return reader.Take();
}

}  // namespace ctxfs::mds
