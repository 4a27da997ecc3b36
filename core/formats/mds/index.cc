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
#include "core/base/json/json_events.h"
#include "core/base/json/json_head.h"
#include "core/base/text/text.h"
#include "core/formats/mds/limits.h"

namespace ctxfs::mds {
namespace {

constexpr uint64_t kVersion = 2;
constexpr std::string_view kZipNames[] = {"",       "br",   "bz2",    "gz",
                                          "snappy", "zstd", "unknown"};

/// The kind of "ALGO" or "ALGO:LEVEL".
ZipKind ZipNamed(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto* const end = std::end(kZipNames) - 1;
  const auto* const found = std::find(std::begin(kZipNames) + 1, end, name);
  return static_cast<ZipKind>(found - std::begin(kZipNames));
}

/// The columns of a shard as stored.
struct ColumnLists {
  std::vector<std::string> names;
  std::vector<std::string> encodings;
  std::vector<std::optional<uint64_t>> sizes;
  bool operator==(const ColumnLists&) const = default;
};

/// A shard as far as it was read.
struct Draft {
  ColumnLists columns;
  std::string format;
  std::string compression;
  std::optional<uint64_t> version;
  std::optional<uint64_t> samples;
  std::optional<StoredFile> raw;
  std::optional<StoredFile> zip;
  unsigned seen = 0;     // bits of kRequired
  unsigned counted = 0;  // bit 0: raw has its bytes; bit 1: zip
};

constexpr std::string_view kRequired[] = {
    "column_names", "column_encodings", "column_sizes", "compression", "format",
    "raw_data",     "samples",          "version",      "zip_data"};
constexpr unsigned kAllSeen = (1U << std::size(kRequired)) - 1;

// Depths of keys.
constexpr size_t kOfIndex = 1;
constexpr size_t kOfShard = 3;
constexpr size_t kOfFile = 4;
constexpr size_t kOfHashes = 5;

/// Builds an Index from the events of its text. Keys have the depths above, in
/// keys_.
class IndexReader final : public JsonEvents {
 public:
  void OnKey(std::string& key) override {
    if (depth() < kKeys) keys_[depth()] = std::move(key);
  }

  void OnOpen(bool is_array) override {
    if (depth() >= kMaxIndexDepth) return Refuse("nested too deep");
    if (depth() == 0) return Require(!is_array, "the index is no object");
    if (depth() == kOfIndex && Is(kOfIndex, "shards")) {
      const bool first = !std::exchange(has_shards_, true);
      return Require(is_array && first, "shards is not one list");
    }
    if (!InShards()) return;
    if (depth() == 2) {
      draft_ = {};
      return Require(!is_array, "a shard is no object");
    }
    if (depth() == kOfShard) OpenMember(is_array);
    if (depth() == kOfFile && InFile()) {
      Require(!is_array && Is(kOfFile, "hashes"), "a member of a wrong type");
    }
    if (depth() == kOfFile && IsList()) Refuse("an item of a wrong type");
    if (depth() == kOfHashes && InFile()) Refuse("a hash is no text");
  }

  void OnClose() override {
    if (depth() == 2 && InShards()) EndShard();
  }

  void OnScalar(const JsonScalar& scalar) override {
    if (depth() == 0) return Refuse("the index is no object");
    if (depth() == kOfIndex && Is(kOfIndex, "version")) {
      return SetVersion(scalar);
    }
    if (depth() == kOfIndex && Is(kOfIndex, "shards")) {
      return Refuse("shards is no list");
    }
    if (!InShards()) return;
    if (depth() == 2) return Refuse("a shard is no object");
    if (depth() == kOfShard) return SetMember(scalar);
    if (depth() == kOfFile && IsList()) return AddItem(scalar);
    if (depth() == kOfFile && InFile()) return SetFileMember(scalar);
    if (depth() == kOfHashes && InFile() && Is(kOfFile, "hashes")) {
      AddHash(scalar);
    }
  }

  Result<Index> Take() {
    if (!has_version_ || !has_shards_) {
      return Error{Code::kCorrupt, "index: version or shards is missing"};
    }
    if (!of_columns_) columns_ = std::move(first_);
    CTXFS_TRY(MakeColumns(columns_, index_.columns));
    for (const Column& column : index_.columns) {
      if (column.size == 0) ++index_.varying;
      const auto sum = CheckedAdd(index_.fixed_bytes, column.size);
      index_.fixed_bytes = sum.value_or(UINT64_MAX);
    }
    CTXFS_TRY(CheckRoom());
    return std::move(index_);
  }

 private:
  static constexpr size_t kKeys = kOfHashes + 1;

  bool Is(size_t depth, std::string_view key) const {
    return keys_[depth] == key;
  }
  bool InShards() const { return depth() >= 2 && Is(kOfIndex, "shards"); }
  bool InFile() const {
    return Is(kOfShard, "raw_data") || Is(kOfShard, "zip_data");
  }
  bool IsList() const {
    return Is(kOfShard, "column_names") || Is(kOfShard, "column_encodings") ||
           Is(kOfShard, "column_sizes");
  }
  StoredFile& File() {
    return *(Is(kOfShard, "raw_data") ? draft_.raw : draft_.zip);
  }

  void Refuse(const std::string& why) {
    Fail({Code::kCorrupt, "index: " + why, at()});
  }
  void Require(bool holds, const std::string& why) {
    if (!holds) Refuse(why);
  }
  void RefuseMember() {
    Refuse(Quote(keys_[kOfShard]) + " of a shard has a wrong type");
  }

  void NoteSeen() {
    const auto* const found = std::ranges::find(kRequired, keys_[kOfShard]);
    const auto bit = found - std::begin(kRequired);
    if (found != std::end(kRequired)) draft_.seen |= 1U << bit;
  }

  static std::optional<uint64_t> Count(const JsonScalar& scalar) {
    const auto* const count = std::get_if<uint64_t>(&scalar);
    if (count == nullptr) return std::nullopt;
    return *count;
  }

  void SetVersion(const JsonScalar& scalar) {
    has_version_ = true;
    if (!std::holds_alternative<uint64_t>(scalar)) {
      return Refuse("version is no number");
    }
    CheckVersion(Count(scalar));
  }

  void CheckVersion(std::optional<uint64_t> version) {
    if (version == kVersion) return;
    Fail({Code::kVersion,
          fmt::format("version: {} is not {}", *version, kVersion), at()});
  }

  void OpenMember(bool is_array) {
    NoteSeen();
    if (IsList()) return Require(is_array, "a list of columns is none");
    if (Is(kOfShard, "raw_data")) draft_.raw.emplace();
    if (Is(kOfShard, "zip_data")) draft_.zip.emplace();
    const bool scalar = Is(kOfShard, "compression") || Is(kOfShard, "format") ||
                        Is(kOfShard, "samples") || Is(kOfShard, "version");
    if (scalar || (InFile() && is_array)) RefuseMember();
  }

  /// Sets a member of a shard that is a scalar.
  void SetMember(const JsonScalar& scalar) {
    NoteSeen();
    const auto* const text = std::get_if<std::string*>(&scalar);
    const bool null = std::holds_alternative<std::nullptr_t>(scalar);
    if (Is(kOfShard, "samples")) {
      draft_.samples = Count(scalar);
      Require(draft_.samples.has_value(), "samples is no count");
    } else if (Is(kOfShard, "version")) {
      draft_.version = Count(scalar);
      Require(draft_.version.has_value(), "version is no number");
    } else if (Is(kOfShard, "format") || Is(kOfShard, "compression")) {
      const bool is_format = Is(kOfShard, "format");
      if (text == nullptr && (is_format || !null)) return RefuseMember();
      if (text == nullptr) return;
      (is_format ? draft_.format : draft_.compression) = std::move(**text);
    } else if (IsList() || Is(kOfShard, "raw_data") ||
               (Is(kOfShard, "zip_data") && !null)) {
      RefuseMember();
    }
  }

  /// Adds an item of a list of columns.
  void AddItem(const JsonScalar& scalar) {
    ColumnLists& lists = draft_.columns;
    const auto* const text = std::get_if<std::string*>(&scalar);
    const bool null = std::holds_alternative<std::nullptr_t>(scalar);
    if (Is(kOfShard, "column_sizes")) {
      if (!null && !Count(scalar)) return Refuse("a size is no count");
      if (!Admitted(lists.sizes)) return;
      lists.sizes.push_back(Count(scalar));
      return;
    }
    if (text == nullptr) return Refuse("an item of a wrong type");
    auto& list = Is(kOfShard, "column_names") ? lists.names : lists.encodings;
    if (Admitted(list)) list.push_back(std::move(**text));
  }

  template <typename List>
  bool Admitted(const List& list) {
    if (list.size() >= kMaxColumns) {
      Fail(OverLimit("limit: more columns than", kMaxColumns, at()));
      return false;
    }
    return true;
  }

  void SetFileMember(const JsonScalar& scalar) {
    const auto* const text = std::get_if<std::string*>(&scalar);
    if (Is(kOfFile, "basename")) {
      if (text == nullptr) return Refuse("basename is no text");
      File().name = std::move(**text);
    } else if (Is(kOfFile, "bytes")) {
      if (!Count(scalar)) return Refuse("bytes is no count");
      File().bytes = *Count(scalar);
      draft_.counted |= Is(kOfShard, "raw_data") ? 1U : 2U;
    } else if (Is(kOfFile, "hashes")) {
      Refuse("hashes is no object");
    }
  }

  void AddHash(const JsonScalar& scalar) {
    const auto* const text = std::get_if<std::string*>(&scalar);
    if (text == nullptr) return Refuse("a hash is no text");
    const std::string& name = keys_[kOfHashes];
    const std::optional<HashAlgorithm> algorithm = HashNamed(name);
    if (!algorithm) return NoteUnknown(name);
    std::vector<ExpectedHash>& hashes = File().hashes;
    const auto faster = std::ranges::upper_bound(hashes, *algorithm, {},
                                                 &ExpectedHash::algorithm);
    hashes.insert(faster, {*algorithm, std::move(**text)});
  }

  void NoteUnknown(const std::string& name) {
    constexpr size_t kMaxNames = 16;
    std::vector<std::string>& names = index_.unknown_hashes;
    if (names.size() == kMaxNames ||
        std::ranges::find(names, name) != names.end()) {
      return;
    }
    names.push_back(name);
  }

  void EndShard() {
    if (!draft_.format.empty() && draft_.format != "mds") {
      return Fail({Code::kNotContainer,
                   "not a container: the shards are of the format " +
                       Quote(draft_.format) +
                       "; the package streaming reads its data set",
                   at()});
    }
    const unsigned files = draft_.zip ? 3U : 1U;
    if (draft_.seen != kAllSeen || draft_.counted != files ||
        draft_.raw->name.empty() || (draft_.zip && draft_.zip->name.empty())) {
      return Refuse("a member of a shard is missing");
    }
    if (*draft_.version != kVersion) return CheckVersion(draft_.version);
    if (Status added = AddShard(); !added) Fail(std::move(added).error());
  }

  Status AddShard() {
    ShardRecord shard;
    const StoredFile& raw = *draft_.raw;
    const uint64_t most = raw.bytes < 8 ? 0 : (raw.bytes - 8) / 4;
    const uint64_t samples = *draft_.samples;
    if (samples > most || samples > kMaxSamples - index_.samples) {
      return OverLimit(fmt::format("limit: {} samples of a shard are", samples),
                       std::min(most, kMaxSamples - index_.samples), at());
    }
    if (index_.shards.size() == kMaxShards) {
      return OverLimit("limit: more shards than", kMaxShards, at());
    }
    shard.samples = static_cast<uint32_t>(samples);
    shard.first = index_.samples;
    CTXFS_TRY(CompareColumns(shard));
    index_.samples += shard.samples;
    if (index_.shards.empty()) index_.compression = draft_.compression;
    if (!draft_.compression.empty()) {
      shard.zip_kind = ZipNamed(draft_.compression);
    }
    shard.raw = *std::move(draft_.raw);
    shard.zip = std::move(draft_.zip);
    CTXFS_TRY(AdmitGrowth(index_.shards));
    index_.shards.push_back(std::move(shard));
    return {};
  }

  /// Fails if values of fixed sizes do not fit into a shard. Otherwise a column
  /// would have a size that no bytes stand for.
  Status CheckRoom() const {
    const auto sample = CheckedAdd(index_.fixed_bytes, 4 + 4 * index_.varying);
    for (const ShardRecord& shard : index_.shards) {
      if (shard.samples == 0 || shard.other_columns) continue;
      const auto all = CheckedMul(sample.value_or(UINT64_MAX), shard.samples);
      if (all && *all <= shard.raw.bytes - 8) continue;
      return OverLimit(fmt::format("limit: {} samples of the shard {} are",
                                   shard.samples, Quote(shard.raw.name)),
                       (shard.raw.bytes - 8) / sample.value_or(UINT64_MAX));
    }
    return {};
  }

  /// Keeps the columns of the first shard with samples.
  Status CompareColumns(ShardRecord& shard) {
    ColumnLists& lists = draft_.columns;
    if (of_columns_ && lists == columns_) return {};
    std::vector<Column> unused;
    CTXFS_TRY(MakeColumns(lists, unused));
    if (index_.shards.empty()) first_ = lists;
    if (shard.samples == 0) return {};
    shard.other_columns = of_columns_;
    if (!of_columns_) columns_ = std::move(lists);
    of_columns_ = true;
    return {};
  }

  static Status MakeColumns(const ColumnLists& lists,
                            std::vector<Column>& columns) {
    if (lists.names.size() != lists.encodings.size() ||
        lists.names.size() != lists.sizes.size()) {
      return Error{Code::kCorrupt,
                   fmt::format("columns: {} names, {} encodings and {} sizes",
                               lists.names.size(), lists.encodings.size(),
                               lists.sizes.size())};
    }
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < lists.names.size(); ++i) {
      if (!names.insert(lists.names[i]).second) {
        return Error{Code::kCorrupt,
                     "columns: the name " + Quote(lists.names[i]) + " twice"};
      }
      columns.push_back(CTXFS_TRY(
          MakeColumn(lists.names[i], lists.encodings[i], lists.sizes[i])));
    }
    return {};
  }

  Index index_;
  Draft draft_;
  ColumnLists columns_;
  ColumnLists first_;        // of the first shard
  bool of_columns_ = false;  // whether columns_ is set
  bool has_version_ = false;
  bool has_shards_ = false;
  std::string keys_[kKeys];  // the current key by depth
};

}  // namespace

std::string_view ZipName(ZipKind kind) {
  return kZipNames[static_cast<size_t>(kind)];
}

bool Index::is_verifiable() const {
  return std::ranges::any_of(shards, [](const ShardRecord& shard) {
    return shard.raw.hash() != nullptr ||
           (shard.zip && shard.zip->hash() != nullptr);
  });
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
