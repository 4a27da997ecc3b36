// SPDX-License-Identifier: Apache-2.0
//
// Implements SampleShard, Shard role 2 (docs/formats/sampleshard.md): each
// entry is a sample, cowrie or JSON, whose name is its number.
#include "core/formats/sample_shard/sample_shard.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/facts/config_facts.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/formats/cowrie/cowrie.h"

namespace ctxfs::sample_shard {
namespace {

constexpr uint64_t kChecksumPiece = 256 * limits::kKiB;
constexpr uint32_t kSamplesLookedAt = 100;

/// Returns the picture in a sample that is a JSON object: a member in base64.
/// Empty if there is none, or if it is too large to be shown.
std::string PictureIn(std::string_view json, const Request& request) {
  const Result<ParsedJson> sample = ParseJson(json, request);
  if (!sample) return {};
  for (const char* key : {"image", "picture", "jpg", "jpeg", "png"}) {
    std::optional<std::string> file = FromBase64(TextAt(sample->value, key));
    if (file && !file->empty() &&
        file->size() <= ShowsSamples::kMaxPictureBytes) {
      return *std::move(file);
    }
  }
  return {};
}

/// Returns the metadata's description of the data set, or null.
Json DataSet(const Json& metadata) {
  for (const char* key : {"sample_shard", "profile_meta"}) {
    if (const Json* found = MemberAt(metadata, key)) return *found;
  }
  return nullptr;
}

}  // namespace

std::optional<int64_t> SampleId(std::string_view name) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t first = name.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  name = name.substr(first, name.find_last_not_of(kBlanks) + 1 - first);
  const bool negative = name[0] == '-';
  if (negative || name[0] == '+') name.remove_prefix(1);
  int64_t id = 0;
  bool digit = false;  // whether the last character was a digit
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

Status SampleShard::Load(const ReadContext& context) {
  CTXFS_TRY(shard::ShardContainer::Load(context));
  data_set_ = DataSet(Metadata(context));
  if ((header().flags & shard::kHasChecksums) == 0) {
    kinds_ = std::vector<std::atomic<ChecksumKind>>(entry_count());
  }
  return {};
}

Checksum SampleShard::StoredChecksum(const shard::ShardRecord& record) const {
  Checksum checksum = shard::ShardContainer::StoredChecksum(record);
  // ShardContainer::Load calls this before kinds_ is filled.
  if (checksum && !kinds_.empty() &&
      kinds_[record.number].load(std::memory_order_acquire) ==
          ChecksumKind::kCrc32) {
    checksum.kind = ChecksumKind::kCrc32;
  }
  return checksum;
}

Status SampleShard::FindChecksum(uint32_t entry,
                                 const ReadContext& context) const {
  const shard::ShardRecord record = Record(entry);
  // Only the first writer stored other checksums; it set no flag and compressed
  // nothing, so encoded entries are not examined.
  if (kinds_.empty() || !options_.verify || Encoded(record) ||
      record.checksum == 0 || EntryFault(entry) ||
      kinds_[entry].load(std::memory_order_acquire) != ChecksumKind::kNone) {
    return {};
  }
  Buffer piece(static_cast<size_t>(std::min(record.disk_size, kChecksumPiece)));
  uint32_t crc32c = 0;
  uint32_t crc32 = 0;
  for (uint64_t done = 0; done < record.disk_size;) {
    CTXFS_TRY(context.Check());
    const MutableBytes bytes = piece.span().first(static_cast<size_t>(
        std::min<uint64_t>(record.disk_size - done, piece.size())));
    CTXFS_TRY(source()->ReadAt(record.data_offset + done, bytes, context));
    crc32c = Crc32c(bytes, crc32c);
    crc32 = Crc32(bytes, crc32);
    done += bytes.size();
  }
  const bool ieee = crc32c != record.checksum && crc32 == record.checksum;
  kinds_[entry].store(ieee ? ChecksumKind::kCrc32 : ChecksumKind::kCrc32c,
                      std::memory_order_release);
  // Records a match, so that the bytes need not be read again. Does not record
  // a mismatch: the first read detects, counts and reports it.
  if (ieee || crc32c == record.checksum) {
    VerdictOf(entry)->store(Verdict::kPassed, std::memory_order_release);
  }
  return {};
}

Result<Content> SampleShard::OpenEntry(uint32_t entry,
                                       const ReadContext& context) const {
  CTXFS_TRY(FindChecksum(entry, context));
  return shard::ShardContainer::OpenEntry(entry, context);
}

void SampleShard::AddInfo(Json& info, const ReadContext& context) const {
  shard::ShardContainer::AddInfo(info, context);
  uint64_t samples = 0;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (!CheckAt(context, i)) break;
    samples += IsSample(i) ? 1U : 0U;
  }
  info["samples"] = samples;
  const auto ieee = static_cast<uint64_t>(std::count_if(
      kinds_.begin(), kinds_.end(), [](const std::atomic<ChecksumKind>& kind) {
        return kind.load(std::memory_order_acquire) == ChecksumKind::kCrc32;
      }));
  if (ieee > 0) {
    info["warnings"].push_back(
        std::to_string(ieee) +
        " of the entries read so far have a CRC-32 (IEEE), which the first "
        "writer stored, and are verified by it");
  }
}

Status SampleShard::AddOwnFacts(const ReadContext& context,
                                Facts& facts) const {
  constexpr size_t kCaptions = 3;
  constexpr uint64_t kMaxBytes = 64 * limits::kKiB;
  std::vector<uint32_t> first;
  uint64_t samples = 0;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    CTXFS_TRY(CheckAt(context, i));
    if (!IsSample(i)) continue;
    ++samples;
    if (first.size() < kCaptions) first.push_back(i);
  }
  facts.Add("samples", samples, "samples");
  for (const uint32_t sample : first) {
    if (EntrySize(sample) > kMaxBytes) continue;
    const Result<std::string> text = Text(sample, context);
    if (!text && !text.error().Permanent()) return text.error();
    if (!text) continue;
    facts.Add("caption." + std::string(EntryName(sample).value_or("")),
              CaptionIn(*text, context));
  }
  return {};
}

Result<std::vector<ShownSample>> SampleShard::FirstSamples(
    size_t most, const ReadContext& context) const {
  std::vector<ShownSample> samples;
  uint32_t looked_at = 0;
  for (const uint32_t entry : SamplesInOrder()) {
    // Stops after kSamplesLookedAt samples: in most sets, all samples have a
    // caption or none has.
    if (samples.size() == most || looked_at++ == kSamplesLookedAt) break;
    CTXFS_TRY(context.Check());
    if (EntrySize(entry) > kMaxTextBytes + 2 * kMaxPictureBytes) continue;
    const Result<std::string> text = Text(entry, context);
    if (!text && !text.error().Permanent()) return text.error();
    if (!text) continue;
    ShownSample sample{.key = std::string(EntryName(entry).value_or("")),
                       .caption = CaptionIn(*text, context),
                       .picture = PictureIn(*text, context)};
    if (sample.caption.empty() && sample.picture.empty()) continue;
    samples.push_back(std::move(sample));
  }
  return samples;
}

EntryInfo SampleShard::Describe(uint32_t entry, const Request& request) const {
  EntryInfo info = shard::ShardContainer::Describe(entry, request);
  if (IsSample(entry)) info.kind = "sample";
  info.checksum = shard::ShardContainer::StoredChecksum(Record(entry)).Text();
  return info;
}

void SampleShard::AddFindings(uint32_t entry, EntryInfo& info) const {
  const Checksum checksum = StoredChecksum(Record(entry));
  if (checksum.kind != ChecksumKind::kCrc32) return;
  info.checksum = checksum.Text();
  if (info.note.empty()) {
    info.note = "the checksum is CRC-32 (IEEE), not CRC-32C";
  }
}

bool SampleShard::IsSample(uint32_t entry) const {
  const std::string_view name = EntryName(entry).value_or("");
  if (name.starts_with("__")) return false;
  const uint16_t type = Record(entry).content_type;
  return type == shard::kJsonContent || type == shard::kCowrieContent ||
         SampleId(name).has_value();
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

Result<Buffer> SampleShard::ReadSample(uint32_t entry,
                                       const ReadContext& context) const {
  CTXFS_TRY(FindChecksum(entry, context));
  return ReadEntry(entry, context);
}

Result<std::string> SampleShard::TextOf(Bytes bytes, JsonForm form,
                                        const ReadContext& context) const {
  if (!cowrie::LooksLikeCowrie(bytes))
    return PassJson(AsText(bytes), form, context);
  const Json value =
      CTXFS_TRY(cowrie::DecodeCowrie(bytes, context.interrupt()));
  return JsonLine(value);
}

Result<std::string> SampleShard::Text(uint32_t entry,
                                      const ReadContext& context) const {
  const auto fail = [&](Error error) {
    error.offset = Record(entry).data_offset;
    return Within("sample " + Quote(EntryName(entry).value_or("")),
                  std::move(error));
  };
  const Result<Buffer> bytes = ReadSample(entry, context);
  if (!bytes) return fail(bytes.error());
  Result<std::string> text = TextOf(bytes->span(), JsonForm::kStored, context);
  if (!text) return fail(std::move(text).error());
  if (cowrie::LooksLikeCowrie(bytes->span())) *text += '\n';
  return text;
}

Result<std::string> SampleShard::Line(uint32_t entry,
                                      const ReadContext& context) const {
  const Result<Buffer> bytes = ReadSample(entry, context);
  if (!bytes) {
    if (!bytes.error().Permanent()) return bytes.error();
    // ErrorLine does not use the error itself: the read that detects damage and
    // later reads report different errors, but the file's size must not change.
    return ErrorLine(entry, EntryLocked(entry)
                                ? "the entry is encrypted, and there is no key"
                                : "the entry cannot be read");
  }
  Result<std::string> text = TextOf(bytes->span(), JsonForm::kOneLine, context);
  if (!text) {
    const Error& error = text.error();
    if (!error.Permanent()) return text;
    return ErrorLine(
        entry, error.what + (error.offset == kNoOffset
                                 ? ""
                                 : " at byte " + std::to_string(error.offset)));
  }
  return *std::move(text) + "\n";
}

std::string SampleShard::ErrorLine(uint32_t entry,
                                   const std::string& reason) const {
  const std::string name(EntryName(entry).value_or(""));
  Json line = {{"$error", reason}, {"entry", name}};
  if (!IsUtf8(name)) line["entry_hex"] = Hex(name);
  return JsonLine(line) + "\n";
}

Container::Tables SampleShard::Files() const {
  Tables files = shard::ShardContainer::Files();
  if (!data_set_.is_null()) {
    files.push_back(FixedFile(Role::kMetadata, "dataset.json",
                              LiteralContent(FormatJson(data_set_))));
  }
  for (auto& table : SampleViews(Share(*this))) {
    files.push_back(std::move(table));
  }
  return files;
}

}  // namespace ctxfs::sample_shard

namespace ctxfs {

extern const Format kSampleShard{.name = "sampleshard",
                                 .contents = "training samples (SampleShard)",
                                 .extensions = "smpl",
                                 .golden = "shard-profiles",
                                 .docs = "sampleshard",
                                 .probe = &shard::HasRole<shard::kSampleRole>,
                                 .open = &OpenAs<sample_shard::SampleShard>};

}  // namespace ctxfs
