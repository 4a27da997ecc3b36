// SPDX-License-Identifier: Apache-2.0
//
// The entries of a recording: arrays of times, schemas, attachments and
// metadata (docs/formats/mcap.md, section 8).
#include <optional>
#include <string>
#include <utility>

#include "core/base/dtype.h"
#include "core/container/documents.h"
#include "core/formats/mcap/mcap.h"
#include "core/formats/mcap/topics.h"

namespace ctxfs::mcap {
namespace {

/// What an entry is, and its number among those of its kind.
struct Which {
  enum class Kind : uint8_t { kArray, kSchema, kAttachment, kMetadata };
  Kind kind;
  uint32_t number;
};

class Entries final : public FileTable {
 public:
  explicit Entries(std::shared_ptr<const Recording> recording)
      : FileTable({.role = Role::kEntries, .shared = true}),
        recording_(std::move(recording)) {}

  uint32_t count() const override {
    return recording_->channel_entries() +
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
  Which Of(uint32_t file) const;
  EntryInfo DescribeArray(uint32_t number) const;
  EntryInfo DescribeSchema(const Schema& schema) const;
  EntryInfo DescribeMetadata(const MetadataPlace& place) const;

  const std::shared_ptr<const Recording> recording_;
};

uint32_t ChannelOf(uint32_t array) { return array / kFields; }
Field FieldOf(uint32_t array) { return static_cast<Field>(array % kFields); }

Which Entries::Of(uint32_t file) const {
  const uint32_t arrays = recording_->channel_entries();
  if (file < arrays) return {Which::Kind::kArray, file};
  file -= arrays;
  const auto schemas = static_cast<uint32_t>(index().schemas.size());
  if (file < schemas) return {Which::Kind::kSchema, file};
  file -= schemas;
  const auto attachments = static_cast<uint32_t>(index().attachments.size());
  if (file < attachments) return {Which::Kind::kAttachment, file};
  return {Which::Kind::kMetadata, file - attachments};
}

std::optional<std::string_view> Entries::Path(uint32_t file,
                                              std::string& scratch) const {
  const Which which = Of(file);
  switch (which.kind) {
    case Which::Kind::kArray:
      scratch = "topics/" + recording_->path(ChannelOf(which.number)) + "/" +
                FieldName(FieldOf(which.number));
      break;
    case Which::Kind::kSchema: {
      const Schema& schema = index().schemas[which.number];
      scratch = "schemas/" + schema.name + ".";
      scratch += SchemaExtension(schema.encoding);
      break;
    }
    case Which::Kind::kAttachment:
      scratch = "attachments/" + index().attachments[which.number].fields.name;
      break;
    case Which::Kind::kMetadata:
      scratch = "metadata/" + index().metadata[which.number].name + ".json";
      break;
  }
  return scratch;
}

Result<Content> Entries::Open(uint32_t file, const ReadContext& context) const {
  const Which which = Of(file);
  switch (which.kind) {
    case Which::Kind::kArray:
      return FieldValues(recording_->messages(), ChannelOf(which.number),
                         FieldOf(which.number));
    case Which::Kind::kSchema: {
      const std::string& data = index().schemas[which.number].data;
      return Content(
          Literal{std::shared_ptr<const std::string>(recording_, &data)},
          data.size());
    }
    case Which::Kind::kAttachment:
      return recording_->OpenAttachment(which.number, context);
    case Which::Kind::kMetadata:
      break;
  }
  return recording_->OpenMetadata(which.number, context);
}

FileFacts Entries::Facts(uint32_t file) const {
  const Which which = Of(file);
  switch (which.kind) {
    case Which::Kind::kArray: {
      const Channel& channel = index().channels[ChannelOf(which.number)];
      return {channel.messages * FieldWidth(FieldOf(which.number))};
    }
    case Which::Kind::kSchema:
      return {index().schemas[which.number].data.size()};
    case Which::Kind::kAttachment:
      return {index().attachments[which.number].fields.size};
    case Which::Kind::kMetadata:
      break;
  }
  return {.size_cost = TextCost(index().metadata[which.number].length)};
}

StoredAttributes Entries::StoredAttributesOf(uint32_t file) const {
  const Which which = Of(file);
  if (which.kind != Which::Kind::kAttachment) return {};
  const AttachmentRecord& fields = index().attachments[which.number].fields;
  const uint64_t time =
      fields.create_time != 0 ? fields.create_time : fields.log_time;
  if (time == 0) return {};
  return {.mtime = FileTime{static_cast<int64_t>(time / kNanoseconds),
                            static_cast<int64_t>(time % kNanoseconds)}};
}

EntryInfo Entries::DescribeArray(uint32_t number) const {
  const uint32_t of = ChannelOf(number);
  const Field field = FieldOf(number);
  const Channel& channel = index().channels[of];
  EntryInfo info;
  info.name = channel.topic + "/" + FieldName(field);
  info.kind = "array";
  info.size = channel.messages * FieldWidth(field);
  info.computed = true;
  info.dtype = DTypeName(field == Field::kSequence ? DType::kU32 : DType::kU64);
  info.shape = {channel.messages};
  const Messages& messages = *recording_->messages();
  const bool verified = recording_->verifies_chunks() && channel.messages > 0 &&
                        messages.IsChunked(of);
  info.verified = verified ? VerifiedText(messages.VerdictOf(of)) : "none";
  return info;
}

EntryInfo Entries::DescribeSchema(const Schema& schema) const {
  EntryInfo info;
  info.name = schema.name;
  info.kind = "schema";
  info.size = schema.data.size();
  info.stored_size = info.size;
  info.offset = kNoOffset;
  info.content_type = schema.encoding;
  info.verified = index().summary_verified ? "yes" : "none";
  return info;
}

EntryInfo Entries::DescribeMetadata(const MetadataPlace& place) const {
  EntryInfo info;
  info.name = place.name;
  info.kind = "metadata";
  info.stored_size = place.length;
  info.offset = place.at;
  info.computed = true;
  info.verified = "none";
  return info;
}

std::optional<EntryInfo> Entries::Describe(uint32_t file,
                                           const ReadContext& context) const {
  const Which which = Of(file);
  switch (which.kind) {
    case Which::Kind::kArray:
      return DescribeArray(which.number);
    case Which::Kind::kSchema:
      return DescribeSchema(index().schemas[which.number]);
    case Which::Kind::kAttachment:
      return recording_->DescribeAttachment(which.number, context);
    case Which::Kind::kMetadata:
      break;
  }
  return DescribeMetadata(index().metadata[which.number]);
}

}  // namespace

std::shared_ptr<const FileTable> EntryTable(
    std::shared_ptr<const Recording> recording) {
  return std::make_shared<const Entries>(std::move(recording));
}

}  // namespace ctxfs::mcap
