// SPDX-License-Identifier: Apache-2.0
//
// Describes a Shard container and its entries: info.json, the records of
// index.json, and the metadata section (docs/formats/shard.md, sections 4, 5
// and 11).
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/content/check_at.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::shard {
namespace {

// Maximum number of entries' faults that info.json lists as warnings.
constexpr size_t kFaultsShown = 100;

std::string RoleName(uint8_t role) {
  constexpr const char* kNames[] = {"unknown",    "ModelShard", "SampleShard",
                                    "GemmShard",  "Manifest",   "WShard",
                                    "GraphShard", "TraceShard", "ColumnShard"};
  constexpr uint8_t kVectorIndex = 0x10;
  if (role == kVectorIndex) return "VectorIndex";
  return role < std::size(kNames) ? kNames[role] : "unknown";
}

/// Returns "10 blob", for example. The text includes the number, because the
/// names of 11 to 15 have changed (section 5).
std::string ContentTypeText(uint16_t type) {
  constexpr const char* kNames[] = {
      "unknown",        "tensor",        "json",         "cowrie",
      "glyph",          "text",          "image",        "audio",
      "video",          "proto",         "blob",         "qmln",
      "tensor_v3",      "anchor_shared", "delta_expert", "codebook_shared",
      "expert_indices", "column"};
  constexpr uint16_t kUser = 0x8000;
  std::string name = "unknown";
  if (type < std::size(kNames)) name = kNames[type];
  if (type >= kUser) name = "user:" + std::to_string(type - kUser);
  return fmt::format("{} {}", type, name);
}

/// Reads at most limits::kJsonBytes from `start` on; nothing if `start` is 0,
/// because then there is no metadata. Fails if `start` is past the end.
Result<Buffer> MetadataText(const Source& source, uint64_t start,
                            const Request& request) {
  const uint64_t size = source.size();
  if (start > size) {
    return Error{Code::kCorrupt,
                 "starts past the end at " + std::to_string(size), start};
  }
  if (start == 0) return Buffer();
  return ReadBuffer(source, start, std::min(size - start, limits::kJsonBytes),
                    "metadata", request);
}

/// Converts an error's offset in the JSON at `start` to an offset in the file.
Error AtMetadata(Error error, uint64_t start) {
  error.offset = start + (error.offset == kNoOffset ? 0 : error.offset);
  return error;
}

/// Counts values without storing them.
class ValueCounter final : public JsonVisitor {
 public:
  bool Enter(const Path& /*path*/, bool /*is_array*/) override {
    ++count_;
    return true;
  }
  void Leave(const Path& /*path*/) override {}
  void Scalar(const Path& /*path*/, Json /*value*/) override { ++count_; }

  bool too_many() const { return count_ > limits::kJsonValues; }

 private:
  uint64_t count_ = 0;
};

/// Returns the number of bytes of the JSON at `start`, including white space
/// after it.
Result<uint64_t> MetadataLength(const Source& source, uint64_t start,
                                const Request& request) {
  const Buffer text = CTXFS_TRY(MetadataText(source, start, request));
  if (text.size() == 0) return uint64_t{0};
  ValueCounter values;
  Result<size_t> length =
      WalkJson(AsText(text.span()), JsonDialect::kStandard, values, request);
  if (!length) return AtMetadata(std::move(length).error(), start);
  if (values.too_many()) {
    return AtMetadata(
        {Code::kLimit,
         fmt::format("JSON of more than {} values is over the limit",
                     limits::kJsonValues)},
        start);
  }
  const auto follows = AsText(text.span()).substr(*length);
  return uint64_t{
      *length + std::min(follows.find_first_not_of(" \t\r\n"), follows.size())};
}

}  // namespace

void ShardContainer::AddInfo(Json& info, const ReadContext& context) const {
  Json warnings = WarningTexts();
  uint64_t stored = 0;
  uint64_t decoded = 0;
  uint64_t unreadable = 0;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (!CheckAt(context, i)) break;
    if (std::optional<Error> fault = EntryFault(i)) {
      if (++unreadable <= kFaultsShown) warnings.push_back(fault->Text());
      continue;
    }
    stored += Record(i).disk_size;
    decoded += EntrySize(i);
  }
  const Result<uint64_t> metadata =
      MetadataLength(*source(), header_.schema_offset, context);
  if (!metadata) {
    warnings.push_back(Within("metadata", metadata.error()).Text());
  }
  info.update({{"format", "shard"},
               {"version", header_.version},
               {"role", header_.role},
               {"role_name", RoleName(header_.role)},
               {"flags", header_.flags},
               {"alignment", header_.alignment},
               {"compression_default", header_.compression_default},
               {"entries", entry_count()},
               {"entries_unreadable", unreadable},
               {"stored_size", stored},
               {"decoded_size", decoded},
               {"salvaged", options_.salvage},
               {"warnings", std::move(warnings)}});
}

std::vector<Error> ShardContainer::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = Faults();
  const Result<uint64_t> metadata =
      MetadataLength(*source(), header_.schema_offset, context);
  if (!metadata) faults.push_back(Within("metadata", metadata.error()));
  return faults;
}

EntryInfo ShardContainer::Describe(uint32_t entry,
                                   const Request& request) const {
  const ShardRecord record = Record(entry);
  EntryInfo info;
  if (const auto name = EntryName(entry)) info.name = *name;
  info.kind = "entry";
  info.size = EntrySize(entry);
  info.stored_size = record.disk_size;
  info.offset = record.data_offset;
  info.content_type = ContentTypeText(record.content_type);
  info.extra["flags"] = record.flags;
  if (record.tag_bits != 0) info.extra["tag_bits"] = record.tag_bits;

  const std::optional<Error> fault = EntryFault(entry);
  if (fault) info.note = fault->what;
  if (Encoded(record)) {
    // If both codec bits are set, PickCodec examines the first bytes.
    std::byte head[4] = {};
    MutableBytes bytes(head, std::min<uint64_t>(4, record.disk_size));
    if (record.ambiguous_codec()) {
      const bool read =
          !fault &&
          source()->ReadAt(record.data_offset, bytes, request).has_value();
      if (!read) bytes = {};
      info.incomplete = !read && !fault;
    }
    info.codec = CodecName(PickCodec(record, bytes));
    if (!fault && TooLarge(record, /*in_memory=*/false)) {
      info.note = "its decoded size is over the limit of 1 GiB";
    }
  }

  const ShardSeal* seal = Seal(entry);
  if (seal != nullptr) {
    info.codec = "aes-256-gcm";
    if (EntryLocked(entry)) {
      info.note = "encrypted: mount with -o keyfile= to read it";
    }
  }
  const Checksum checksum = StoredChecksum(record);
  info.checksum = checksum.Text();
  info.verified = checksum || seal != nullptr ? "no" : "none";
  const Verdict verdict = (*verdicts_)[entry].load(std::memory_order_acquire);
  if (verdict == Verdict::kPassed) info.verified = "yes";
  if (verdict == Verdict::kFailed) info.verified = "failed";
  return info;
}

Result<Buffer> ShardContainer::ReadEntry(uint32_t entry,
                                         const ReadContext& context) const {
  const std::shared_ptr<const Block> block = CTXFS_TRY(OpenBlock(entry));
  return block->Produce(context);
}

Status ShardContainer::AddFacts(const ReadContext& context,
                                Facts& facts) const {
  facts.AddMember("profile", ShardContainer::Info(context), "role_name");
  CTXFS_TRY(AddOwnFacts(context, facts));
  facts.AddMembers("metadata.", ShardContainer::Metadata(context));
  return {};
}

Result<ParsedJson> ShardContainer::ParseMetadata(const Request& request) const {
  const uint64_t start = header_.schema_offset;
  const Buffer text = CTXFS_TRY(MetadataText(*source(), start, request));
  if (text.size() == 0) return ParsedJson{nullptr, 0};
  Result<ParsedJson> parsed = ParseJson(AsText(text.span()), request);
  if (!parsed) return AtMetadata(std::move(parsed).error(), start);
  return parsed;
}
Json ShardContainer::Metadata(const Request& request) const {
  Result<ParsedJson> parsed = ParseMetadata(request);
  if (parsed) return std::move(parsed->value);
  return parsed.error().Permanent() ? Json() : Json(Json::value_t::discarded);
}

void ShardContainer::Annotate(const Json& metadata, EntryInfo& info) const {
  const Json* tags = MemberAt(metadata, "tag_dictionary");
  if (info.extra.contains("tag_bits") && tags != nullptr && tags->is_array()) {
    const auto bits = info.extra["tag_bits"].get<uint32_t>();
    Json names = Json::array();
    for (size_t k = 0; k < std::min<size_t>(tags->size(), 16); ++k) {
      if ((bits >> k & 1U) != 0) names.push_back((*tags)[k]);
    }
    info.extra["tags"] = std::move(names);
  }
  const Json* entries = MemberAt(metadata, "entry_metadata");
  if (entries == nullptr || !entries->is_object() || !info.name) return;
  const auto own = entries->find(*info.name);
  if (own != entries->end()) info.extra["metadata"] = *own;
}

Result<Content> ShardContainer::OpenMetadata(const Request& request) const {
  const uint64_t start = header_.schema_offset;
  uint64_t length = source()->size() - start;
  // Omits bytes after the JSON value; if the value cannot be parsed, shows all
  // bytes.
  const Result<uint64_t> json = MetadataLength(*source(), start, request);
  if (json) length = std::min(length, *json);
  if (!json && !json.error().Permanent()) return json.error();
  return Content(Range{source(), start, nullptr}, length);
}

std::string_view ShardContainer::EntryPath(uint32_t entry,
                                           std::string& scratch) const {
  const std::optional<std::string_view> name = EntryName(entry);
  return name ? *name : UnnamedEntryPath(entry, scratch);
}

std::shared_ptr<const FileTable> ShardContainer::EntryTable() const {
  return MakeTable(
      {.placement = {.role = EntryRole(), .may_nest = true},
       .count = entry_count(),
       .path = [this](
                   uint32_t entry,
                   std::string& scratch) { return EntryPath(entry, scratch); },
       .open =
           [this](uint32_t entry, const ReadContext& context) {
             return OpenEntry(entry, context);
           },
       .facts =
           [this](uint32_t entry) {
             FileFacts facts{EntrySize(entry), EntryFault(entry)};
             if (!facts.fault && EntryLocked(entry)) {
               facts.fault =
                   Error{Code::kLocked, "encrypted, and no key was given",
                         Record(entry).data_offset};
             }
             return facts;
           },
       .describe =
           [this](uint32_t entry, const ReadContext& context) {
             EntryInfo info = Describe(entry, context);
             info.add_findings = [this, entry](EntryInfo& found,
                                               const Request& /*request*/) {
               AddFindings(entry, found);
             };
             return info;
           },
       .owner = Share(*this)});
}

Container::Tables ShardContainer::Files() const {
  Tables files = {EntryTable()};
  const uint64_t start = header_.schema_offset;
  if (start != 0 && start < source()->size()) {
    files.push_back(
        OpenedFile(Role::kMetadata, "metadata.json",
                   [self = Share(*this)](const ReadContext& context) {
                     return self->OpenMetadata(context);
                   }));
  }
  return files;
}

}  // namespace ctxfs::shard
