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
  Which Of(uint32_t file) const;
  EntryInfo DescribeArray(uint32_t number) const;
  EntryInfo DescribeSchema(const Definition& schema) const;
  EntryInfo DescribeMetadata(const FileRecord& file) const;

  const std::shared_ptr<const Recording> recording_;
};

Which Entries::Of(uint32_t file) const {
  const uint32_t arrays = recording_->arrays();
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
      scratch = "topics/" + recording_->path(which.number / kFields) + "/" +
                FieldName(FieldOf(which.number));
      break;
    case Which::Kind::kSchema: {
      const Definition& schema = index().schemas[which.number];
      scratch = "schemas/" + schema.name + ".";
      scratch += SchemaExtension(schema.encoding);
      break;
    }
    case Which::Kind::kAttachment:
      scratch = "attachments/" + index().attachments[which.number].name;
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
      return recording_->ValuesOf(which.number);
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
      const Channel& channel = index().channels[which.number / kFields];
      return {channel.messages * FieldWidth(FieldOf(which.number))};
    }
    case Which::Kind::kSchema:
      return {index().schemas[which.number].data.size()};
    case Which::Kind::kAttachment:
      return {index().attachments[which.number].size};
    case Which::Kind::kMetadata:
      break;
  }
  return {.size_cost = TextCost(index().metadata[which.number].record.length)};
}

StoredAttributes Entries::StoredAttributesOf(uint32_t file) const {
  const Which which = Of(file);
  if (which.kind != Which::Kind::kAttachment) return {};
  const FileRecord& fields = index().attachments[which.number];
  const uint64_t time =
      fields.create_time != 0 ? fields.create_time : fields.log_time;
  if (time == 0) return {};
  return {.mtime = FileTime{static_cast<int64_t>(time / kNanoseconds),
                            static_cast<int64_t>(time % kNanoseconds)}};
}

EntryInfo Entries::DescribeArray(uint32_t number) const {
  const Channel& channel = index().channels[number / kFields];
  const Field field = FieldOf(number);
  EntryInfo info = InfoOf(channel.name + "/" + FieldName(field), "array",
                          channel.messages * FieldWidth(field));
  info.computed = true;
  info.dtype = DTypeName(DTypeOf(field));
  info.shape = {channel.messages};
  info.verified = recording_->VerifiedOf(number / kFields);
  return info;
}

EntryInfo Entries::DescribeSchema(const Definition& schema) const {
  EntryInfo info = InfoOf(schema.name, "schema", schema.data.size());
  info.stored_size = info.size;
  info.offset = kNoOffset;
  info.content_type = schema.encoding;
  info.verified = index().summary_verified ? "yes" : "none";
  return info;
}

EntryInfo Entries::DescribeMetadata(const FileRecord& file) const {
  EntryInfo info = InfoOf(file.name, "metadata", 0);
  info.stored_size = file.record.length;
  info.offset = file.record.at;
  info.computed = true;
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

EntryInfo InfoOf(std::string name, const char* kind, uint64_t size) {
  EntryInfo info;
  info.name = std::move(name);
  info.kind = kind;
  info.size = size;
  info.verified = "none";
  return info;
}

std::shared_ptr<const FileTable> EntryTable(
    std::shared_ptr<const Recording> recording) {
  return std::make_shared<const Entries>(std::move(recording));
}

}  // namespace ctxfs::mcap
