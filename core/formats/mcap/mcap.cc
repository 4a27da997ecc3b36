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
#include "core/base/text/text.h"
#include "core/container/open.h"
#include "core/formats/mcap/limits.h"
#include "core/formats/mcap/walk.h"

namespace ctxfs::mcap {
namespace {

using Take = WalkRange::Take;

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

/// Fails unless `head` is that of a file which can be read.
Status CheckMagic(Bytes head) {
  if (IsConverted(head)) {
    return Error{Code::kNotContainer,
                 "an MCAP recording whose line ends were converted, so that it "
                 "is damaged: copy it again in binary mode",
                 0};
  }
  const std::string_view magic = AsText(head);
  if (magic[kVersionAt] == kMagic[kVersionAt]) return {};
  return Error{Code::kVersion,
               fmt::format("version: the version is {}, and ctxfs reads 0",
                           Quote(magic.substr(kVersionAt, 1))),
               kVersionAt};
}

/// Adds the schemas and channels of a summary: writers may leave out of the
/// data section those that no message uses.
Status AddSummaryChannels(const Chunks& chunks, const Footer& footer,
                          IndexBuilder& builder, const ReadContext& context) {
  if (footer.summary == 0) return {};
  CTXFS_TRY(Walk(chunks, {footer.summary, footer.at, Take::kDefinitions},
                 builder, context));
  return {};
}

/// Whether the statistics of a summary are those of the records.
bool Agrees(const Summary& summary, const Index& index) {
  const auto count = [&summary](Op op) { return summary.records.at(op); };
  return summary.messages == index.messages &&
         count(Op::kAttachmentIndex) == index.attachments.size() &&
         count(Op::kMetadataIndex) == index.metadata.size() &&
         count(Op::kChunkIndex) == index.chunks.size();
}

}  // namespace

Recording::Recording(std::shared_ptr<const Source> source,
                     const OpenOptions& options)
    : Container(source),
      options_(options),
      chunks_(std::make_shared<Chunks>(std::move(source), options.verify)) {}

Status Recording::Load(const ReadContext& context) {
  const Buffer head = CTXFS_TRY(ReadHead(*source(), context));
  CTXFS_TRY(CheckMagic(head.span()));
  const Result<Footer> footer = ReadFooter(*source(), context);
  Result<uint64_t> data = LoadHeader(context);
  if (!data && !data.error().Permanent()) return data.error();
  if (!data && footer) return data.error();
  if (!data) {
    // A file that ends within its header was cut.
    if (!options_.salvage) return footer.error();
    data = kMagic.size();
  }
  index_ = CTXFS_TRY(LoadIndex(*data, footer, context));
  WarnAll(std::exchange(index_.warnings, {}));
  const bool verified = index_.walked && options_.verify;
  chunks_->Set(std::exchange(index_.chunks, {}),
               std::exchange(index_.unordered, {}),
               verified ? Verdict::kPassed : Verdict::kUnknown);
  paths_ = TopicPaths(index_.channels);
  verdicts_ =
      std::make_shared<std::vector<AtomicVerdict>>(index_.attachments.size());
  return LookAtChunks(context);
}

Status Recording::LookAtChunks(const ReadContext& context) {
  const std::vector<Chunk>& chunks = chunks_->all();
  const auto other =
      std::ranges::find(chunks, Compression::kOther, &Chunk::compression);
  if (other != chunks.end()) {
    Warn(
        {"compression: chunks in a compression that is neither zstd nor lz4 "
         "cannot be read",
         other->record.at, Severity::kPartial});
  }
  if (chunks.empty()) return {};
  const auto first = ReadChunk(*source(), chunks.front().record, context);
  if (!first && !first.error().Permanent()) return first.error();
  verifies_chunks_ = options_.verify && first && first->crc != 0;
  return {};
}

Result<uint64_t> Recording::LoadHeader(const ReadContext& context) {
  const Error none{Code::kCorrupt,
                   "header: the file does not begin with a header record",
                   kMagic.size()};
  RecordReader reader(*source(), kMagic.size(), source()->size(), context);
  const Maybe<Record> first = reader.Next();
  if (!first && !first.error().Permanent()) return first.error();
  if (!first || !*first || (*first)->op != Op::kHeader) return none;
  ByteReader in(CTXFS_TRY(reader.Start(**first, kMaxHeaderBytes)));
  profile_ = TakeText(in);
  library_ = TakeText(in);
  return in.ok() ? Result<uint64_t>((*first)->end()) : none;
}

Result<Index> Recording::LoadIndex(uint64_t data, const Result<Footer>& footer,
                                   const ReadContext& context) const {
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
                                    const ReadContext& context) const {
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
  const Walked walked =
      CTXFS_TRY(Walk(*chunks_, {data, end, Take::kData}, builder, context));
  CTXFS_TRY(AddSummaryChannels(*chunks_, footer, builder, context));
  Index index = std::move(builder).Finish();
  index.walked = true;
  std::string& why = summary.contradiction;
  if (why.empty() && summary.messages && !walked.lacks_chunks &&
      !Agrees(summary, index)) {
    why = "its statistics are not those of the records";
  }
  if (!why.empty()) {
    index.warnings.push_back({"walked: the summary is not used: " + why,
                              footer.summary, Severity::kNote});
  }
  return index;
}

Result<Index> Recording::Salvage(uint64_t data, const Footer* footer,
                                 const Error& reason,
                                 const ReadContext& context) const {
  IndexBuilder builder;
  const Walked walked = CTXFS_TRY(Walk(
      *chunks_, {data, source()->size(), Take::kSalvaged}, builder, context));
  if (footer != nullptr && walked.stopped) {
    Status added = AddSummaryChannels(*chunks_, *footer, builder, context);
    if (!added && !IsDamage(added.error())) return std::move(added).error();
  }
  Index index = std::move(builder).Finish();
  index.walked = true;
  std::string text = reason.what;
  if (walked.stopped && !index.data_end &&
      walked.stopped->what != reason.what) {
    text += fmt::format("; the last record that is shown ends at byte {}",
                        walked.stopped->offset);
  }
  index.warnings.push_back({std::move(text), reason.offset, Severity::kDamage});
  return index;
}

Container::Tables Recording::Files() const {
  Tables tables = {EntryFiles()};
  for (uint32_t i = 0; i < index_.channels.size(); ++i) {
    AddMessageFiles(i, tables);
  }
  AddPictureFiles(tables);
  return tables;
}

// The data section has a checksum that covers the whole file before it.
std::vector<Error> Recording::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = Faults();
  if (!index_.data_end || !options_.verify) return faults;
  const Record& end = *index_.data_end;
  const auto compare = [&]() -> Status {
    const Buffer record =
        CTXFS_TRY(ReadRecord(*source(), end, sizeof(uint32_t), context));
    ByteReader in(record.span());
    in.Skip(kHeadSize);
    return CompareCrc(*source(), 0, end.at, in.U32(),
                      {Code::kChecksum, "data_crc: the data section", end.at},
                      context);
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
