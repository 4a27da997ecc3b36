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
#include "core/base/json/json_writer.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/codec/checksum.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/container/part_texts.h"
#include "core/container/put_text.h"
#include "core/formats/mcap/limits.h"
#include "core/formats/mcap/scan.h"
#include "core/formats/mcap/topics.h"
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
uint64_t BytesOf(const Messages& messages, uint32_t channel, uint32_t message) {
  if (const auto size = messages.KnownSize(channel, message)) return *size;
  const Channel& of = messages.channel(channel);
  const size_t run = of.RunOf(message);
  const uint32_t count = of.EndOf(run) - of.runs[run].first;
  return messages.chunks()[of.runs[run].place].size / count;
}

/// The message as a line of JSON (docs/formats/mcap.md, section 7).
Result<std::string> LineOf(const Messages& messages, uint32_t channel,
                           uint32_t message, const ReadContext& context) {
  const FoundMessage found =
      CTXFS_TRY(messages.Find(channel, message, context));
  const bool too_long = found.size > limits::kJsonBytes;
  const Content data = too_long ? Content() : messages.DataOf(found);
  const std::string text = CTXFS_TRY(ReadAll(data, context));
  std::string line = fmt::format(
      "{{\"log_time\": {}, \"publish_time\": {}, \"sequence\": {}, ",
      found.fields.log_time, found.fields.publish_time, found.fields.sequence);
  const Result<std::string> value =
      sample_shard::PassJson(text, sample_shard::JsonForm::kOneLine, context);
  if (!value && !value.error().Permanent()) return value.error();
  line += value ? "\"message\": " + *value : "\"$error\": \"not_json\"";
  line += "}\n";
  return line;
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
  WarnAll(index.warnings);
  index.warnings.clear();
  const bool verified = index.walked && options_.verify;
  chunks_->Set(index.chunks, verified ? Verdict::kPassed : Verdict::kUnknown);
  paths_ = TopicPaths(index.channels);
  verdicts_ =
      std::make_shared<std::vector<AtomicVerdict>>(index.attachments.size());
  index_ = std::make_shared<const Index>(std::move(index));
  messages_ = std::make_shared<const Messages>(index_, chunks_);
  for (uint32_t i = 0; i < chunks_->count(); ++i) {
    const std::optional<Error> fault = chunks_->Fault(i);
    if (!fault || fault->code != Code::kUnsupported) continue;
    Warn(
        {"compression: chunks in a compression that is neither zstd nor lz4 "
         "cannot be read",
         fault->offset, Severity::kPartial});
    break;
  }
  return FindChecksums(context);
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
  if (summary.statistics && summary.contradiction.empty()) {
    const Statistics& said = *summary.statistics;
    const bool same = said.chunks == index.chunks.size() &&
                      said.attachments == index.attachments.size() &&
                      said.metadata == index.metadata.size() &&
                      said.messages == index.messages;
    if (!same && !walked.lacks_chunks) {
      summary.contradiction = "its statistics are not those of the records";
    }
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

Status Recording::FindChecksums(const ReadContext& context) {
  if (index_->chunks.empty() || !options_.verify) return {};
  const Chunk& first = index_->chunks.front();
  const auto fields = ReadChunkRecord(*source(), first.record(), context);
  if (!fields && !fields.error().Permanent()) return fields.error();
  verifies_chunks_ = fields && fields->crc != 0;
  return {};
}

const Schema* Recording::SchemaOf(const Channel& channel) const {
  const auto found = std::ranges::lower_bound(
      index_->schemas, channel.schema_id, {}, &Schema::id);
  const bool there =
      found != index_->schemas.end() && found->id == channel.schema_id;
  return there ? &*found : nullptr;
}

std::shared_ptr<const FileTable> Recording::MessageFiles(
    uint32_t number) const {
  const Channel& channel = index_->channels[number];
  const auto size = [this, number](
                        uint32_t message,
                        const ReadContext& context) -> Result<uint64_t> {
    return SizeIn(messages_->Find(number, message, context),
                  &FoundMessage::size);
  };
  return MakeTable(
      {.placement = {.role = Role::kPrimary,
                     .directory = "topics/" + paths_[number] + "/messages",
                     .numbering =
                         Numbering{.suffix = "." + std::string(MessageExtension(
                                                       channel.encoding))}},
       .count = channel.messages,
       .path = &NoPath,
       .open = [this, number](uint32_t message,
                              const ReadContext& context) -> Result<Content> {
         const FoundMessage found =
             CTXFS_TRY(messages_->Find(number, message, context));
         return messages_->DataOf(found);
       },
       .facts =
           [this, number](uint32_t message) {
             return FileFacts{.size = messages_->KnownSize(number, message)};
           },
       .size = size,
       .describe = [this, number](uint32_t message,
                                  const ReadContext& /*context*/)
           -> std::optional<EntryInfo> {
         return DescribeMessage(number, message);
       },
       .owner = Share(*this)});
}

EntryInfo Recording::DescribeMessage(uint32_t channel, uint32_t message) const {
  EntryInfo info;
  info.name = index_->channels[channel].topic;
  info.kind = "message";
  info.verified = "none";
  const std::optional<uint32_t> chunk = messages_->ChunkOf(channel, message);
  if (!chunk) {
    info.size = *messages_->KnownSize(channel, message);
    info.stored_size = info.size;
    return info;
  }
  // Its own size is not known before the chunk is decoded.
  const Chunk& in = (*chunks_)[*chunk];
  info.codec = CompressionName(in.compression);
  info.offset = in.at;
  info.stored_size = in.length;
  if (verifies_chunks_)
    info.verified = VerifiedText(chunks_->VerdictOf(*chunk));
  return info;
}

std::shared_ptr<const FileTable> Recording::MessageLines(
    uint32_t number) const {
  auto texts = std::make_shared<const PartTexts>(
      PartTexts{.noun = "message",
                .source = source(),
                .bytes =
                    [messages = messages_, number](uint32_t message) {
                      return BytesOf(*messages, number, message);
                    },
                .text =
                    [messages = messages_, number](uint32_t message,
                                                   const ReadContext& context) {
                      return LineOf(*messages, number, message, context);
                    }});
  return JoinedTexts(Role::kViews,
                     WithSuffix("messages/" + paths_[number], ".jsonl"),
                     std::move(texts), LineStarts(index_->channels[number]));
}

Container::Tables Recording::Files() const {
  Tables tables = {EntryTable(Share(*this))};
  for (uint32_t i = 0; i < index_->channels.size(); ++i) {
    tables.push_back(MessageFiles(i));
    if (index_->channels[i].encoding == "json") {
      tables.push_back(MessageLines(i));
    }
  }
  return tables;
}

Container::Tables Recording::FilesWithPaths(const PathsInTree& paths) const {
  const uint32_t entries =
      channel_entries() + static_cast<uint32_t>(index_->schemas.size());
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
                {"metadata", MapJson(AsBytes(channel.metadata))}};
    PutText(one, "topic", channel.topic);
    PutText(one, "path", array.substr(0, array.rfind('/')));
    if (const Schema* const schema = SchemaOf(channel)) {
      one["schema"] =
          paths[channel_entries() +
                static_cast<size_t>(schema - index_->schemas.data())];
    }
    list.push_back(std::move(one));
  }
  return FormatJson(list);
}

Result<std::pair<Record, AttachmentRecord>> Recording::ReadAttachment(
    uint32_t number, const ReadContext& context) const {
  const Attachment& attachment = index_->attachments[number];
  const Record record =
      CTXFS_TRY(ReadIndexed(*source(), Op::kAttachment, attachment.at,
                            attachment.length + kHeadSize, context));
  AttachmentRecord fields =
      CTXFS_TRY(ReadAttachmentRecord(*source(), record, context));
  if (fields.size != attachment.fields.size) {
    return BadRecord(record, "the index has another size of its data");
  }
  return std::pair(record, std::move(fields));
}

Result<Content> Recording::OpenAttachment(uint32_t number,
                                          const ReadContext& context) const {
  const auto found = CTXFS_TRY(ReadAttachment(number, context));
  const Record& record = found.first;
  const AttachmentRecord& fields = found.second;
  // The checksum stands behind the data, and covers all before itself.
  const uint64_t end = fields.data + fields.size;
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
  return Content(Range{source(), fields.data, std::move(guard)}, fields.size);
}

EntryInfo Recording::DescribeAttachment(uint32_t number,
                                        const ReadContext& context) const {
  const Attachment& attachment = index_->attachments[number];
  EntryInfo info;
  info.name = attachment.fields.name;
  info.kind = "attachment";
  info.size = attachment.fields.size;
  info.stored_size = info.size;
  info.offset = attachment.at;
  info.content_type = attachment.fields.media_type;
  info.verified = "none";
  const Result<Content> content = OpenAttachment(number, context);
  if (!content) {
    info.note = content.error().Text();
    info.incomplete = !content.error().Permanent();
    return info;
  }
  const std::optional<ctxfs::Range> range = content->AsStored();
  if (!range) return info;
  info.offset = range->offset;
  if (range->guard != nullptr) {
    info.checksum = range->guard->guarded().checksum.Text();
    info.verified = VerifiedText((*verdicts_)[number].load());
  }
  return info;
}

Result<Content> Recording::OpenMetadata(uint32_t number,
                                        const ReadContext& context) const {
  const MetadataPlace& place = index_->metadata[number];
  const uint64_t bytes = place.length + kHeadSize;
  const auto make = [this, self = Share(*this), &place,
                     bytes](const ReadContext& own) -> Result<std::string> {
    const Record record =
        CTXFS_TRY(ReadIndexed(*source(), Op::kMetadata, place.at, bytes, own));
    if (record.length > kMaxMetadataBytes) {
      return OverLimit("limit: bytes of a metadata record", kMaxMetadataBytes,
                       place.at);
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
    constexpr uint64_t kPiece = limits::kMiB;
    const Record& end = *index_->data_end;
    const Buffer stored = CTXFS_TRY(ReadBuffer(
        *source(), end.content(), sizeof(uint32_t), "data end", context));
    const auto expected = LoadLe<uint32_t>(stored.data());
    if (expected == 0) return {};
    uint32_t crc = 0;
    for (uint64_t at = 0; at < end.at;) {
      CTXFS_TRY(context.Check());
      const Buffer piece = CTXFS_TRY(ReadBuffer(
          *source(), at, std::min(kPiece, end.at - at), "data", context));
      crc = Crc32(piece.span(), crc);
      at += piece.size();
    }
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
