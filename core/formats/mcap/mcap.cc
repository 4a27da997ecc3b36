// SPDX-License-Identifier: Apache-2.0
//
// MCAP, recordings of robots (docs/formats/mcap.md). A file is records, each
// with u8 opcode and u64 length:
//
//   magic, header
//   data section     schemas, channels, messages, chunks of these three, with
//                    message indexes behind each, attachments, metadata
//   data end
//   summary          copies of schemas and channels, statistics, indexes
//   footer, magic
#include "core/formats/mcap/mcap.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/codec/checksum.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/container/part_texts.h"
#include "core/container/put_text.h"
#include "core/formats/mcap/limits.h"
#include "core/formats/sample_shard/stored_json.h"

namespace ctxfs::mcap {
namespace {

/// The byte of the magic number that is the version.
constexpr size_t kVersionAt = 5;

/// Whether `head` is that of MCAP in any version.
bool IsMcap(Bytes head) {
  const std::string_view text = AsText(head);
  return text.size() >= kMagic.size() &&
         text.substr(0, kVersionAt) == kMagic.substr(0, kVersionAt) &&
         text.substr(kVersionAt + 1, 2) == kMagic.substr(kVersionAt + 1);
}

/// Whether line ends were converted in the magic number.
bool IsConverted(Bytes head) { return AsText(head).starts_with("\x89MCAP0\n"); }

/// A bound of the bytes of decoded messages that a line is made of.
uint64_t BytesOf(const Recording& recording, uint32_t channel,
                 uint32_t message) {
  if (const auto size = recording.KnownSize(channel, message)) return *size;
  const Channel& of = recording.index().channels[channel];
  const size_t run = of.RunOf(message);
  const uint32_t count = of.EndOf(run) - of.runs[run].first;
  return recording.chunks()[of.runs[run].place].size / count;
}

/// The message as a line of JSON (docs/formats/mcap.md, section 7).
Result<std::string> LineOf(const Recording& recording, uint32_t channel,
                           uint32_t message, const ReadContext& context) {
  const FoundMessage found =
      CTXFS_TRY(recording.Find(channel, message, context));
  const bool too_long = found.size > limits::kJsonBytes;
  const Content data = too_long ? Content() : recording.DataOf(found);
  const std::string text = CTXFS_TRY(ReadAll(data, context));
  const Result<std::string> value =
      sample_shard::PassJson(text, sample_shard::JsonForm::kOneLine, context);
  if (!value && !value.error().Permanent()) return value.error();
  return fmt::format(
      "{{\"log_time\": {}, \"publish_time\": {}, \"sequence\": {}, {}}}\n",
      found.fields.log_time, found.fields.publish_time, found.fields.sequence,
      value ? "\"message\": " + *value : "\"$error\": \"not_json\"");
}

/// The first message of each part of views/messages/TOPIC.jsonl that is made as
/// a whole: of a chunk, or of some messages outside of chunks.
std::vector<uint32_t> LineStarts(const Channel& channel) {
  constexpr uint32_t kLooseLines = 1024;
  std::vector<uint32_t> starts;
  for (size_t run = 0; run < channel.runs.size(); ++run) {
    const uint32_t end = channel.EndOf(run);
    const uint32_t step =
        channel.runs[run].is_loose() ? kLooseLines : UINT32_MAX;
    for (uint64_t at = channel.runs[run].first; at < end; at += step) {
      starts.push_back(static_cast<uint32_t>(at));
    }
  }
  starts.push_back(channel.messages);
  return starts;
}

}  // namespace

Recording::Recording(std::shared_ptr<const Source> source,
                     const OpenOptions& options)
    : Container(source),
      options_(options),
      chunks_(std::make_shared<Chunks>(std::move(source), options.verify)) {}

Status Recording::Load(const ReadContext& context) {
  const Buffer head = CTXFS_TRY(ReadHead(*source(), context));
  if (IsConverted(head.span())) {
    return Error{Code::kNotContainer,
                 "an MCAP recording whose line ends were converted, so that it "
                 "is damaged: copy it again in binary mode",
                 0};
  }
  const std::string_view magic = AsText(head.span());
  if (magic[kVersionAt] != kMagic[kVersionAt]) {
    return Error{Code::kVersion,
                 fmt::format("version: the version is {}, and ctxfs reads 0",
                             Quote(magic.substr(kVersionAt, 1))),
                 kVersionAt};
  }
  const uint64_t data = CTXFS_TRY(LoadHeader(context));
  Index index = CTXFS_TRY(LoadIndex(data, context));
  WarnAll(std::exchange(index.warnings, {}));
  const bool verified = index.walked && options_.verify;
  chunks_->Set(index.chunks, verified ? Verdict::kPassed : Verdict::kUnknown);
  paths_ = TopicPaths(index.channels);
  verdicts_ =
      std::make_shared<std::vector<AtomicVerdict>>(index.attachments.size());
  index_ = std::make_unique<const Index>(std::move(index));
  const auto other = std::ranges::find(index_->chunks, Compression::kOther,
                                       &Chunk::compression);
  if (other != index_->chunks.end()) {
    Warn(
        {"compression: chunks in a compression that is neither zstd nor lz4 "
         "cannot be read",
         other->at, Severity::kPartial});
  }
  if (index_->chunks.empty()) return {};
  const Chunk& first = index_->chunks.front();
  const auto fields =
      ReadChunkRecord(*source(), {Op::kChunk, first.at, first.length}, context);
  if (!fields && !fields.error().Permanent()) return fields.error();
  verifies_chunks_ = options_.verify && fields && fields->crc != 0;
  return {};
}

Result<uint64_t> Recording::LoadHeader(const ReadContext& context) {
  RecordReader reader(*source(), kMagic.size(), source()->size());
  const Maybe<Record> next = reader.Next(context);
  if (!next && !next.error().Permanent()) return next.error();
  const bool cut = next ? !next->has_value() : next.error().offset == 0;
  if (next && next->has_value() && (*next)->op == Op::kHeader) {
    const Bytes content =
        CTXFS_TRY(reader.Start(**next, kMaxHeaderBytes, context));
    ByteReader in(content);
    profile_ = std::string(TakeText(in));
    library_ = std::string(TakeText(in));
    if (in.ok()) return (*next)->end();
  }
  // A file that ends within its header was cut.
  if (!cut && ReadFooter(*source(), context)) {
    return Error{Code::kCorrupt,
                 "header: the file does not begin with a header record",
                 kMagic.size()};
  }
  if (options_.salvage) return kMagic.size();
  CTXFS_TRY(ReadFooter(*source(), context));
  return Error{Code::kCorrupt, "header: the file is too short", kMagic.size()};
}

Result<Index> Recording::LoadIndex(uint64_t data, const ReadContext& context) {
  const Result<Footer> footer = ReadFooter(*source(), context);
  if (!footer && !footer.error().Permanent()) return footer.error();
  const Status sound =
      footer ? CheckSummary(*source(), *footer, data, options_.verify, context)
             : Status(footer.error());
  Result<Index> index =
      sound ? ReadOrWalk(data, *footer, context) : Result<Index>(sound.error());
  const bool damaged = !index && (index.error().code == Code::kCorrupt ||
                                  index.error().code == Code::kChecksum);
  if (!damaged || !options_.salvage) return index;
  return Salvage(data, sound ? &*footer : nullptr, index.error(), context);
}

// With a summary that is complete, nothing else is read.
Result<Index> Recording::ReadOrWalk(uint64_t data, const Footer& footer,
                                    const ReadContext& context) {
  Summary summary;
  if (footer.summary != 0) {
    summary = CTXFS_TRY(ReadSummary(*source(), footer, data, context));
  }
  if (summary.index) {
    summary.index->summary_verified = footer.crc != 0 && options_.verify;
    return *std::move(summary.index);
  }
  const uint64_t end = footer.summary != 0 ? footer.summary : footer.at;
  IndexBuilder builder;
  const Walked walked = CTXFS_TRY(
      Walk(*chunks_, {data, end, /*salvage=*/false}, builder, context));
  if (footer.summary != 0) {
    CTXFS_TRY(AddSummaryChannels(*source(), footer, builder, context));
  }
  Index index = std::move(builder).Finish();
  index.walked = true;
  const bool same = summary.counts[2] == index.attachments.size() &&
                    summary.counts[3] == index.metadata.size() &&
                    summary.counts[4] == index.chunks.size() &&
                    summary.messages == index.messages;
  if (summary.messages && !same && !walked.lacks_chunks &&
      summary.contradiction.empty()) {
    summary.contradiction = "its statistics are not those of the records";
  }
  if (!summary.contradiction.empty()) {
    index.warnings.push_back(
        {"walked: the summary is not used: " + summary.contradiction,
         footer.summary, Severity::kNote});
  }
  return index;
}

Result<Index> Recording::Salvage(uint64_t data, const Footer* footer,
                                 const Error& reason,
                                 const ReadContext& context) {
  IndexBuilder builder;
  const Walked walked = CTXFS_TRY(Walk(
      *chunks_, {data, source()->size(), /*salvage=*/true}, builder, context));
  if (footer != nullptr && footer->summary != 0 && walked.stopped) {
    Status added = AddSummaryChannels(*source(), *footer, builder, context);
    if (!added && !IsDamage(added.error())) return std::move(added).error();
  }
  Index index = std::move(builder).Finish();
  index.walked = true;
  std::string text = reason.what;
  const bool in_data = !index.data_end;
  if (walked.stopped && in_data && walked.stopped->what != reason.what) {
    text += fmt::format("; the last record that is shown ends at byte {}",
                        walked.stopped->offset);
  }
  index.warnings.push_back({std::move(text), reason.offset, Severity::kDamage});
  return index;
}

const Definition* Recording::SchemaOf(const Channel& channel) const {
  const auto found = std::ranges::lower_bound(index_->schemas, channel.schema,
                                              {}, &Definition::id);
  const bool there =
      found != index_->schemas.end() && found->id == channel.schema;
  return there ? &*found : nullptr;
}

std::shared_ptr<const FileTable> Recording::MessageFiles(
    uint32_t channel) const {
  std::string suffix = ".";
  suffix += MessageExtension(index_->channels[channel].encoding);
  return MakeTable(
      {.placement = {.role = Role::kPrimary,
                     .directory = "topics/" + paths_[channel] + "/messages",
                     .numbering = Numbering{.suffix = std::move(suffix)}},
       .count = index_->channels[channel].messages,
       .path = &NoPath,
       .open = [this, channel](uint32_t message,
                               const ReadContext& context) -> Result<Content> {
         const auto found = CTXFS_TRY(Find(channel, message, context));
         return DataOf(found);
       },
       .facts =
           [this, channel](uint32_t message) {
             return FileFacts{.size = KnownSize(channel, message)};
           },
       .size =
           [this, channel](uint32_t message, const ReadContext& context) {
             return SizeIn(Find(channel, message, context),
                           &FoundMessage::size);
           },
       .owner = Share(*this)});
}

std::shared_ptr<const FileTable> Recording::MessageLines(
    uint32_t channel) const {
  PartTexts texts;
  texts.noun = "message";
  texts.source = source();
  texts.bytes = [self = Share(*this), channel](uint32_t message) {
    return BytesOf(*self, channel, message);
  };
  texts.text = [self = Share(*this), channel](uint32_t message,
                                              const ReadContext& context) {
    return LineOf(*self, channel, message, context);
  };
  return JoinedTexts(Role::kViews,
                     WithSuffix("messages/" + paths_[channel], ".jsonl"),
                     std::make_shared<const PartTexts>(std::move(texts)),
                     LineStarts(index_->channels[channel]));
}

Container::Tables Recording::Files() const {
  Tables tables = {EntryTable(Share(*this))};
  for (uint32_t i = 0; i < index_->channels.size(); ++i) {
    tables.push_back(MessageFiles(i));
    if (index_->channels[i].encoding == "json") {
      tables.push_back(MessageLines(i));
    }
  }
  for (auto& table : PictureFiles()) tables.push_back(std::move(table));
  return tables;
}

Container::Tables Recording::FilesWithPaths(const PathsInTree& paths) const {
  const uint32_t entries =
      arrays() + static_cast<uint32_t>(index_->schemas.size());
  return {TextDocument(
      Role::kPrimary, "channels.json", {owner_, 0}, source(),
      [this, self = Share(*this), &paths,
       entries](const ReadContext& /*context*/) -> Result<std::string> {
        return ChannelsJson(paths.Of(0, entries));
      },
      TextCost(index_->channels.size() * sizeof(Channel)))};
}

namespace {

/// A map of strings as an object; of a key that repeats the last counts.
Json MapJson(Bytes map) {
  Json object = Json::object();
  ByteReader in(map);
  while (in.remaining() > 0 && in.ok()) {
    const std::string_view key = TakeText(in);
    const std::string_view value = TakeText(in);
    if (in.ok()) object[AsUtf8(key)] = value;
  }
  return object;
}

}  // namespace

std::string Recording::ChannelsJson(
    const std::vector<std::string>& paths) const {
  Json list = Json::array();
  for (uint32_t i = 0; i < index_->channels.size(); ++i) {
    const Channel& channel = index_->channels[i];
    const std::string& array = paths[i * kFields];
    Json one = {{"id", channel.id},
                {"message_encoding", channel.encoding},
                {"schema", nullptr},
                {"messages", channel.messages},
                {"metadata", MapJson(AsBytes(channel.data))}};
    PutText(one, "topic", channel.name);
    PutText(one, "path", array.substr(0, array.rfind('/')));
    if (const Definition* const schema = SchemaOf(channel)) {
      one["schema"] = paths[arrays() + static_cast<size_t>(
                                           schema - index_->schemas.data())];
    }
    list.push_back(std::move(one));
  }
  return FormatJson(list);
}

Result<Content> Recording::OpenAttachment(uint32_t number,
                                          const ReadContext& context) const {
  const FileRecord& indexed = index_->attachments[number];
  const Record record =
      CTXFS_TRY(ReadIndexed(*source(), Op::kAttachment, indexed.record.at,
                            indexed.record.length, context));
  const FileRecord file =
      CTXFS_TRY(ReadAttachmentRecord(*source(), record, context));
  if (file.size != indexed.size) {
    return BadRecord(record, "the index has another size of its data");
  }
  // The checksum stands behind the data, and covers all before itself.
  const uint64_t end = file.data + file.size;
  const Buffer crc = CTXFS_TRY(
      ReadBuffer(*source(), end, sizeof(uint32_t), "attachment", context));
  const Checksum checksum{ChecksumKind::kCrc32, LoadLe<uint32_t>(crc.data())};
  std::shared_ptr<const ChecksumGuard> guard;
  if (options_.verify && checksum.value != 0) {
    guard = std::make_shared<const ChecksumGuard>(
        Key{owner_, 1 + uint64_t{number}},
        ChecksumGuard::Guarded{source(), record.content(),
                               end - record.content(), checksum},
        std::shared_ptr<AtomicVerdict>(verdicts_, &(*verdicts_)[number]));
  }
  return Content(Range{source(), file.data, std::move(guard)}, file.size);
}

EntryInfo Recording::DescribeAttachment(uint32_t number,
                                        const ReadContext& context) const {
  const FileRecord& file = index_->attachments[number];
  EntryInfo info = InfoOf(file.name, "attachment", file.size);
  info.stored_size = file.size;
  info.offset = file.record.at;
  info.content_type = file.media_type;
  const Result<Content> content = OpenAttachment(number, context);
  if (!content) {
    info.note = content.error().Text();
    info.incomplete = !content.error().Permanent();
    return info;
  }
  const std::optional<Range> range = content->AsStored();
  if (range && range->guard != nullptr) {
    info.checksum = range->guard->guarded().checksum.Text();
    info.verified = VerifiedText((*verdicts_)[number].load());
  }
  return info;
}

Result<Content> Recording::OpenMetadata(uint32_t number,
                                        const ReadContext& context) const {
  const Record& indexed = index_->metadata[number].record;
  const auto make = [this, self = Share(*this),
                     &indexed](const ReadContext& own) -> Result<std::string> {
    const Record record = CTXFS_TRY(
        ReadIndexed(*source(), Op::kMetadata, indexed.at, indexed.length, own));
    if (record.length > kMaxMetadataBytes) {
      return OverLimit("limit: bytes of a metadata record", kMaxMetadataBytes,
                       record.at);
    }
    const Buffer content = CTXFS_TRY(ReadBuffer(
        *source(), record.content(), record.length, "metadata", own));
    ByteReader in(content.span());
    (void)TakeText(in);
    const std::string_view map = TakeText(in);
    if (!in.ok() || !IsTextMap(AsBytes(map))) {
      return BadRecord(record, kFieldPastEnd);
    }
    return FormatJson(MapJson(AsBytes(map)));
  };
  return CachedText({owner_, (uint64_t{1} << 32) + number}, source(), make,
                    context);
}

// The data section has a checksum that covers the whole file before it.
std::vector<Error> Recording::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = Faults();
  if (!index_->data_end || !options_.verify) return faults;
  const auto compare = [&]() -> Status {
    const Record& end = *index_->data_end;
    const Buffer stored = CTXFS_TRY(ReadBuffer(
        *source(), end.content(), sizeof(uint32_t), "data end", context));
    const auto expected = LoadLe<uint32_t>(stored.data());
    if (expected == 0) return {};
    const uint32_t crc = CTXFS_TRY(Crc32Of(*source(), 0, end.at, context));
    if (crc == expected) return {};
    return Error{Code::kChecksum,
                 fmt::format("data_crc: the data section has the checksum "
                             "{:08x}, not {:08x}",
                             crc, expected),
                 end.at};
  };
  if (Status same = compare(); !same) faults.push_back(same.error());
  return faults;
}

}  // namespace ctxfs::mcap

namespace ctxfs {

extern const Format kMcap{
    .name = "mcap",
    .contents = "messages of a recording by topic",
    .extensions = "mcap",
    .golden = "mcap",
    .docs = "mcap",
    .probe = &mcap::IsMcap,
    .open = &OpenAs<mcap::Recording>,
    .resembles = &mcap::IsConverted,
    .traits = {
        .stays_file = true, .optional_checksums = true, .index_at_end = true}};

}  // namespace ctxfs
