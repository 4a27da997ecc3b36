// SPDX-License-Identifier: Apache-2.0
//
// The entries of a recording: arrays of times, schemas, attachments and
// metadata (docs/formats/mcap.md, section 8).
#include <optional>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/container/documents.h"
#include "core/container/put_text.h"
#include "core/formats/mcap/limits.h"
#include "core/formats/mcap/mcap.h"

namespace ctxfs::mcap {
namespace {

enum class Kind : uint8_t { kArray, kSchema, kAttachment, kMetadata };

/// An entry, and its description in the index: at most one of the pointers is
/// set.
struct Entry {
  Kind kind;
  uint32_t number;  // among those of its kind
  const Channel* channel = nullptr;
  const Definition* schema = nullptr;
  const FileRecord* file = nullptr;
};

class EntryTable final : public FileTable {
 public:
  explicit EntryTable(std::shared_ptr<const Recording> recording)
      : FileTable({.role = Role::kEntries, .shared = true}),
        recording_(std::move(recording)) {}

  uint32_t count() const override {
    return recording_->arrays() +
           static_cast<uint32_t>(index().schemas.size() +
                                 index().attachments.size() +
                                 index().metadata.size());
  }
  std::optional<std::string_view> Path(uint32_t file,
                                       std::string& scratch) const override;
  Result<Content> Open(uint32_t file,
                       const ReadContext& context) const override;
  FileFacts Facts(uint32_t file) const override;
  StoredAttributes StoredAttributesOf(uint32_t file) const override;
  std::optional<EntryInfo> Describe(uint32_t file,
                                    const ReadContext& context) const override;

 private:
  const Index& index() const { return recording_->index(); }
  Entry Of(uint32_t file) const;

  const std::shared_ptr<const Recording> recording_;
};

Entry EntryTable::Of(uint32_t file) const {
  const uint32_t arrays = recording_->arrays();
  if (file < arrays) {
    return {.kind = Kind::kArray,
            .number = file,
            .channel = &recording_->ChannelOf(file)};
  }
  file -= arrays;
  if (file < index().schemas.size()) {
    return {.kind = Kind::kSchema,
            .number = file,
            .schema = &index().schemas[file]};
  }
  file -= static_cast<uint32_t>(index().schemas.size());
  const bool attached = file < index().attachments.size();
  if (!attached) file -= static_cast<uint32_t>(index().attachments.size());
  return {
      .kind = attached ? Kind::kAttachment : Kind::kMetadata,
      .number = file,
      .file = attached ? &index().attachments[file] : &index().metadata[file]};
}

std::optional<std::string_view> EntryTable::Path(uint32_t file,
                                                 std::string& scratch) const {
  const Entry one = Of(file);
  switch (one.kind) {
    case Kind::kArray:
      scratch = "topics/" + recording_->ArrayName(one.number);
      break;
    case Kind::kSchema:
      scratch = "schemas/" + one.schema->name + ".";
      scratch += SchemaExtension(one.schema->encoding);
      break;
    case Kind::kAttachment:
      scratch = "attachments/" + one.file->name;
      break;
    case Kind::kMetadata:
      scratch = "metadata/" + one.file->name + ".json";
  }
  return scratch;
}

Result<Content> EntryTable::Open(uint32_t file,
                                 const ReadContext& context) const {
  const Entry one = Of(file);
  if (one.kind == Kind::kArray) return recording_->ValuesOf(one.number);
  if (one.kind == Kind::kAttachment) {
    return recording_->OpenAttachment(one.number, context);
  }
  if (one.kind == Kind::kMetadata) {
    return recording_->OpenMetadata(one.number, context);
  }
  const std::string& data = one.schema->data;
  return Content(Literal{std::shared_ptr<const std::string>(recording_, &data)},
                 data.size());
}

FileFacts EntryTable::Facts(uint32_t file) const {
  const Entry one = Of(file);
  if (one.kind == Kind::kArray) return {recording_->SizeOf(one.number)};
  if (one.kind == Kind::kSchema) return {one.schema->data.size()};
  if (one.kind == Kind::kAttachment) return {one.file->size};
  return {.size_cost = TextCost(one.file->record.length)};
}

StoredAttributes EntryTable::StoredAttributesOf(uint32_t file) const {
  const Entry one = Of(file);
  if (one.kind != Kind::kAttachment || one.file->time == 0) return {};
  return {.mtime =
              FileTime{static_cast<int64_t>(one.file->time / kNanoseconds),
                       static_cast<int64_t>(one.file->time % kNanoseconds)}};
}

std::optional<EntryInfo> EntryTable::Describe(
    uint32_t file, const ReadContext& context) const {
  const Entry one = Of(file);
  EntryInfo info;
  info.size = Facts(file).size.value_or(0);
  info.verified = "none";
  if (one.kind == Kind::kArray) {
    const Field& field = Recording::FieldOf(one.number);
    info.kind = "array";
    info.name = one.channel->name + "/" + field.name;
    info.computed = true;
    info.dtype = DTypeName(field.dtype);
    info.shape = {one.channel->messages};
    info.verified = recording_->VerifiedOf(*one.channel);
  } else if (one.kind == Kind::kSchema) {
    info.kind = "schema";
    info.name = one.schema->name;
    info.stored_size = info.size;
    info.offset = kNoOffset;
    info.content_type = one.schema->encoding;
    info.verified = index().summary_verified ? "yes" : "none";
  } else {
    info.name = one.file->name;
    info.offset = one.file->record.at;
    if (one.kind == Kind::kAttachment) {
      info.kind = "attachment";
      info.stored_size = info.size;
      info.content_type = one.file->media_type;
      recording_->DescribeAttachment(one.number, info, context);
    } else {
      info.kind = "metadata";
      info.stored_size = one.file->record.length;
      info.computed = true;
    }
  }
  return info;
}

/// Returns a map of strings as an object. If a key repeats, its last value
/// counts.
Json MapJson(std::string_view map) {
  Json object = Json::object();
  ByteReader in(AsBytes(map));
  while (in.remaining() > 0 && in.ok()) {
    const std::string_view key = TakeText(in);
    const std::string_view value = TakeText(in);
    if (in.ok()) object[AsUtf8(key)] = value;
  }
  return object;
}

}  // namespace

std::shared_ptr<const FileTable> Recording::EntryFiles() const {
  return std::make_shared<const EntryTable>(Share(*this));
}

Result<Content> Recording::OpenAttachment(uint32_t number,
                                          const ReadContext& context) const {
  const FileRecord& indexed = index_.attachments[number];
  const FileRecord file =
      CTXFS_TRY(ReadAttachment(*source(), indexed.record, context));
  if (file.size != indexed.size) {
    return BadRecord(file.record, "the index has another size of its data");
  }
  // The checksum follows the data, and covers the record's content before it.
  const uint64_t begin = file.record.content();
  const uint64_t end = file.data + file.size;
  const Buffer crc = CTXFS_TRY(
      ReadBuffer(*source(), end, sizeof(uint32_t), "attachment", context));
  const Checksum checksum{ChecksumKind::kCrc32, LoadLe<uint32_t>(crc.data())};
  std::shared_ptr<const ChecksumGuard> guard;
  if (options_.verify && checksum.value != 0) {
    guard = std::make_shared<const ChecksumGuard>(
        Key{owner_, 1 + uint64_t{number}},
        ChecksumGuard::Guarded{source(), begin, end - begin, checksum},
        std::shared_ptr<AtomicVerdict>(verdicts_, &(*verdicts_)[number]));
  }
  return Content(Range{source(), file.data, std::move(guard)}, file.size);
}

void Recording::DescribeAttachment(uint32_t number, EntryInfo& info,
                                   const ReadContext& context) const {
  const Result<Content> content = OpenAttachment(number, context);
  if (!content) {
    info.note = content.error().Text();
    info.incomplete = !content.error().Permanent();
    return;
  }
  const std::optional<Range> range = content->AsStored();
  if (!range || range->guard == nullptr) return;
  info.checksum = range->guard->guarded().checksum.Text();
  info.verified = VerifiedText((*verdicts_)[number].load());
}

Result<Content> Recording::OpenMetadata(uint32_t number,
                                        const ReadContext& context) const {
  const Record& record = index_.metadata[number].record;
  const auto make = [this, self = Share(*this),
                     &record](const ReadContext& own) -> Result<std::string> {
    if (record.length > kMaxMetadataBytes) {
      return OverLimit("limit: bytes of a metadata record", kMaxMetadataBytes,
                       record.at);
    }
    const Buffer bytes =
        CTXFS_TRY(ReadRecord(*source(), record, kMaxMetadataBytes, own));
    ByteReader in(bytes.span());
    in.Skip(kHeadSize);
    (void)TakeText(in);
    const std::string_view map = TakeText(in);
    if (!in.ok() || !IsTextMap(map)) return BadRecord(record);
    return FormatJson(MapJson(map));
  };
  return CachedText({owner_, (uint64_t{1} << 32) + number}, source(), make,
                    context);
}

Container::Tables Recording::FilesWithPaths(const PathsInTree& paths) const {
  const uint32_t entries =
      arrays() + static_cast<uint32_t>(index_.schemas.size());
  return {TextDocument(
      Role::kPrimary, "channels.json", {owner_, 0}, source(),
      [this, self = Share(*this), &paths,
       entries](const ReadContext& /*context*/) -> Result<std::string> {
        return ChannelsJson(paths.Of(0, entries));
      },
      TextCost(index_.channels.size() * sizeof(Channel)))};
}

std::string Recording::ChannelsJson(
    const std::vector<std::string>& paths) const {
  Json list = Json::array();
  for (uint32_t i = 0; i < index_.channels.size(); ++i) {
    const Channel& channel = index_.channels[i];
    const std::string& array = paths[i * kFields.size()];
    Json one = {{"id", channel.id},
                {"message_encoding", channel.encoding},
                {"schema", nullptr},
                {"messages", channel.messages},
                {"metadata", MapJson(channel.data)}};
    PutText(one, "topic", channel.name);
    PutText(one, "path", array.substr(0, array.rfind('/')));
    if (const Definition* const schema = index_.SchemaOf(channel)) {
      const auto number = static_cast<size_t>(schema - index_.schemas.data());
      one["schema"] = paths[arrays() + number];
    }
    list.push_back(std::move(one));
  }
  return FormatJson(list);
}

}  // namespace ctxfs::mcap
