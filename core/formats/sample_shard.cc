// SPDX-License-Identifier: Apache-2.0
//
// SampleShard, Shard role 2 (docs/sampleshard.md): an entry a sample, called
// by its number, a cowrie value or JSON.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/formats/cowrie.h"
#include "core/formats/shard.h"

namespace ctxfs {
namespace {

constexpr uint8_t kRole = 2;
constexpr size_t kRoleAt = 5;
constexpr uint16_t kHasChecksums = 0x0020;
constexpr uint16_t kJsonType = 2;
constexpr uint16_t kCowrieType = 3;

// How many samples of samples.jsonl are decoded together.
constexpr size_t kSamplesABlock = 1024;

constexpr uint64_t kChecksumPiece = 256 * limits::kKiB;

bool Probe(Bytes head) {
  return AsText(head).starts_with("SHRD") && head.size() > kRoleAt &&
         std::to_integer<uint8_t>(head[kRoleAt]) == kRole;
}

/// The number that a sample's name is, as the reference reads it: blanks
/// around, a sign, digits with single underscores between. Cut to 64 bits.
std::optional<int64_t> SampleId(std::string_view name) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t first = name.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  name = name.substr(first, name.find_last_not_of(kBlanks) + 1 - first);
  const bool negative = name[0] == '-';
  if (negative || name[0] == '+') name.remove_prefix(1);
  int64_t id = 0;
  bool digit = false;  // whether the last character was one
  for (const char c : name) {
    if (c == '_' && digit) {
      digit = false;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    digit = true;
    if (__builtin_mul_overflow(id, 10, &id) ||
        __builtin_add_overflow(id, c - '0', &id)) {
      id = INT64_MAX;
    }
  }
  if (!digit) return std::nullopt;
  return negative ? -id : id;
}

}  // namespace

class SampleShard final : public ShardContainer {
 public:
  using ShardContainer::ShardContainer;

  Status Load() override;

  Json Info() const override;
  Result<Content> OpenEntry(uint32_t entry) const override;
  EntryInfo Describe(uint32_t entry) const override;
  std::vector<OwnFile> OwnFiles() const override;
  std::vector<DerivedDirectory> DerivedDirectories() const override;

 protected:
  Checksum StoredChecksum(uint32_t entry) const override;

 private:
  friend class SampleBlock;

  std::shared_ptr<const SampleShard> Self() const {
    return std::static_pointer_cast<const SampleShard>(shared_from_this());
  }

  /// Whether the entry is a sample, by its name and content type alone.
  bool IsSample(uint32_t entry) const;
  /// All samples by their numbers, as the reference goes through them; those
  /// without a number last.
  std::vector<uint32_t> SamplesInOrder() const;
  /// A sample as one line of JSON.
  Result<std::string> Line(uint32_t entry) const;
  Result<Content> OpenSample(uint32_t entry, BlockCache& cache) const;
  Result<Content> OpenLines(BlockCache& cache) const;
  /// Finds out by which checksum an entry goes (docs/sampleshard.md, section
  /// 2), by reading it, once.
  Status FindChecksum(uint32_t entry) const;

  const uint64_t sample_owner_ = NewOwner();
  const uint64_t lines_owner_ = NewOwner();
  // What FindChecksum has found; empty where all are CRC-32C.
  mutable std::vector<std::atomic<ChecksumKind>> kinds_;
};

/// Samples as JSON, one a line.
class SampleBlock final : public Block {
 public:
  SampleBlock(Key key, std::shared_ptr<const SampleShard> shard,
              std::vector<uint32_t> samples)
      : Block(key), shard_(std::move(shard)), samples_(std::move(samples)) {}

  uint64_t cost() const override {
    uint64_t bytes = 0;
    for (const uint32_t sample : samples_) bytes += shard_->EntrySize(sample);
    return 2 * bytes;  // about; not known before it is made
  }

  Status CheckUnchanged() const override {
    return shard_->source()->CheckUnchanged();
  }

  Result<Buffer> Produce() const override {
    std::string text;
    for (const uint32_t sample : samples_) {
      const Result<std::string> line = shard_->Line(sample);
      if (!line) return line.error();
      if (line->size() > limits::kDecodedBytes - text.size()) {
        return Error{Code::kLimit, "samples of more than " +
                                       std::to_string(limits::kDecodedBytes) +
                                       " bytes of JSON"};
      }
      text += *line;
    }
    Buffer made(text.size());
    if (!text.empty()) std::memcpy(made.data(), text.data(), text.size());
    return made;
  }

 private:
  std::shared_ptr<const SampleShard> shard_;
  std::vector<uint32_t> samples_;
};

namespace {

/// Appends a block whose length is known only once it has been made.
Status AppendMade(std::shared_ptr<const Block> block, BlockCache& cache,
                  Content& content) {
  const Result<BlockCache::Pinned> made = cache.Get(*block);
  if (!made) return made.error();
  const uint64_t size = (*made)->size();
  content.Append(Decoded{std::move(block), 0}, size);
  return {};
}

/// What a metadata section says of the data set; null for nothing.
Json DataSet(const Json& metadata) {
  if (!metadata.is_object()) return nullptr;
  for (const char* key : {"sample_shard", "profile_meta"}) {
    const auto found = metadata.find(key);
    if (found != metadata.end()) return *found;
  }
  return nullptr;
}

}  // namespace

Status SampleShard::Load() {
  if (Status loaded = ShardContainer::Load(); !loaded) return loaded;
  if ((header().flags & kHasChecksums) == 0) {
    kinds_ = std::vector<std::atomic<ChecksumKind>>(entry_count());
  }
  return {};
}

Checksum SampleShard::StoredChecksum(uint32_t entry) const {
  Checksum checksum = ShardContainer::StoredChecksum(entry);
  if (checksum && !kinds_.empty() &&
      kinds_[entry].load(std::memory_order_acquire) == ChecksumKind::kCrc32) {
    checksum.kind = ChecksumKind::kCrc32;
  }
  return checksum;
}

Status SampleShard::FindChecksum(uint32_t entry) const {
  const ShardRecord record = Record(entry);
  // The first writer set no flag and compressed nothing.
  if (kinds_.empty() || !options().verify || record.compressed() ||
      record.checksum == 0 || EntryFault(entry) ||
      kinds_[entry].load(std::memory_order_acquire) != ChecksumKind::kNone) {
    return {};
  }
  Buffer piece(static_cast<size_t>(std::min(record.disk_size, kChecksumPiece)));
  uint32_t crc32c = 0;
  uint32_t crc32 = 0;
  for (uint64_t done = 0; done < record.disk_size;) {
    const MutableBytes bytes = piece.span().first(static_cast<size_t>(
        std::min<uint64_t>(record.disk_size - done, piece.size())));
    Status read = source()->ReadAt(record.data_offset + done, bytes);
    if (!read) return read;
    crc32c = Crc32c(bytes, crc32c);
    crc32 = Crc32(bytes, crc32);
    done += bytes.size();
  }
  const bool ieee = crc32c != record.checksum && crc32 == record.checksum;
  kinds_[entry].store(ieee ? ChecksumKind::kCrc32 : ChecksumKind::kCrc32c,
                      std::memory_order_release);
  return {};
}

Result<Content> SampleShard::OpenEntry(uint32_t entry) const {
  if (Status found = FindChecksum(entry); !found) {
    return std::move(found).error();
  }
  return ShardContainer::OpenEntry(entry);
}

Json SampleShard::Info() const {
  Json info = ShardContainer::Info();
  uint64_t samples = 0;
  for (uint32_t i = 0; i < entry_count(); ++i) samples += IsSample(i) ? 1U : 0U;
  info["samples"] = samples;
  const auto ieee = static_cast<uint64_t>(std::count_if(
      kinds_.begin(), kinds_.end(), [](const std::atomic<ChecksumKind>& kind) {
        return kind.load(std::memory_order_acquire) == ChecksumKind::kCrc32;
      }));
  if (ieee > 0) {
    info["warnings"].push_back(
        std::to_string(ieee) +
        " of the entries read so far have a CRC-32 (IEEE), as the first writer "
        "made them, and are verified by that");
  }
  return info;
}

EntryInfo SampleShard::Describe(uint32_t entry) const {
  EntryInfo info = ShardContainer::Describe(entry);
  if (IsSample(entry)) info.kind = "sample";
  if (info.note.empty() && info.checksum.starts_with("crc32:")) {
    info.note = "the checksum is CRC-32 (IEEE), not CRC-32C";
  }
  return info;
}

bool SampleShard::IsSample(uint32_t entry) const {
  const std::string_view name = EntryName(entry).value_or("");
  if (name.starts_with("__")) return false;
  const uint16_t type = Record(entry).content_type;
  return type == kJsonType || type == kCowrieType || SampleId(name).has_value();
}

std::vector<uint32_t> SampleShard::SamplesInOrder() const {
  struct Sample {
    bool unnumbered;
    int64_t id;
    uint32_t entry;
    auto operator<=>(const Sample&) const = default;
  };
  std::vector<Sample> samples;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (!IsSample(i)) continue;
    const std::optional<int64_t> id = SampleId(EntryName(i).value_or(""));
    samples.push_back({!id, id.value_or(0), i});
  }
  std::sort(samples.begin(), samples.end());
  std::vector<uint32_t> order;
  order.reserve(samples.size());
  for (const Sample& sample : samples) order.push_back(sample.entry);
  return order;
}

Result<std::string> SampleShard::Line(uint32_t entry) const {
  const auto fail = [&](Error error) {
    error.what =
        "sample " + Quote(EntryName(entry).value_or("")) + ": " + error.what;
    error.offset = Record(entry).data_offset;
    return error;
  };
  const Result<Buffer> bytes = ReadEntry(entry);
  if (!bytes) return fail(bytes.error());
  Json value;
  if (LooksLikeCowrie(bytes->span())) {
    Result<Cowrie> cowrie = DecodeCowrie(bytes->span());
    if (!cowrie) return fail(std::move(cowrie).error());
    value = std::move(cowrie->value);
  } else {
    const std::string_view text = AsText(bytes->span());
    Result<ParsedJson> parsed = ParseJson(text);
    if (!parsed) return fail(std::move(parsed).error());
    if (text.find_first_not_of(" \t\r\n", parsed->length) != text.npos) {
      return fail({Code::kCorrupt, "bytes follow the JSON value"});
    }
    value = std::move(parsed->value);
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Content> SampleShard::OpenSample(uint32_t entry,
                                        BlockCache& cache) const {
  Content content;
  Status made = AppendMade(
      std::make_shared<const SampleBlock>(Key{sample_owner_, entry}, Self(),
                                          std::vector<uint32_t>{entry}),
      cache, content);
  if (!made) return std::move(made).error();
  return content;
}

Result<Content> SampleShard::OpenLines(BlockCache& cache) const {
  const std::vector<uint32_t> samples = SamplesInOrder();
  Content content;
  for (size_t i = 0; i < samples.size(); i += kSamplesABlock) {
    const auto begin = samples.begin() + static_cast<ptrdiff_t>(i);
    const size_t count = std::min(kSamplesABlock, samples.size() - i);
    Status made =
        AppendMade(std::make_shared<const SampleBlock>(
                       Key{lines_owner_, i}, Self(),
                       std::vector<uint32_t>(
                           begin, begin + static_cast<ptrdiff_t>(count))),
                   cache, content);
    if (!made) return std::move(made).error();
  }
  return content;
}

std::vector<OwnFile> SampleShard::OwnFiles() const {
  std::vector<OwnFile> files = ShardContainer::OwnFiles();
  if (const Json data_set = DataSet(Metadata()); !data_set.is_null()) {
    auto text = std::make_shared<const std::string>(FormatJson(data_set));
    OwnFile file;
    file.path = "dataset.json";
    file.size = text->size();
    file.open = [text](BlockCache& /*cache*/) -> Result<Content> {
      Content content;
      content.Append(Literal{text}, text->size());
      return content;
    };
    files.push_back(std::move(file));
  }
  OwnFile lines;
  lines.path = "samples.jsonl";
  lines.open = [self = Self()](BlockCache& cache) {
    return self->OpenLines(cache);
  };
  files.push_back(std::move(lines));
  return files;
}

std::vector<DerivedDirectory> SampleShard::DerivedDirectories() const {
  DerivedDirectory json;
  json.name = "json";
  json.suffix = ".json";
  json.open = [self = Self()](uint32_t entry, BlockCache& cache) {
    return self->OpenSample(entry, cache);
  };
  json.includes = [self = Self()](uint32_t entry) {
    // The README calls samples sample/000007, which the reference passes by.
    const std::string_view name = self->EntryName(entry).value_or("");
    return self->IsSample(entry) ||
           (name.starts_with("sample/") && SampleId(name.substr(7)));
  };
  return {std::move(json)};
}

extern const Format kSampleShard;
const Format kSampleShard{"sampleshard", &Probe, &OpenShard<SampleShard>};

}  // namespace ctxfs
