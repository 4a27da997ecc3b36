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

#include "core/base/text/text.h"
#include "core/container/open.h"
#include "core/formats/mcap/limits.h"
#include "core/formats/mcap/read_index.h"

namespace ctxfs::mcap {
namespace {

/// Offset in the magic number of the byte that is the version.
constexpr size_t kVersionAt = 5;

/// Whether `head` starts with the magic number of any version of MCAP.
bool IsMcap(Bytes head) {
  const std::string_view text = AsText(head);
  return text.size() >= kMagic.size() &&
         text.substr(0, kVersionAt) == kMagic.substr(0, kVersionAt) &&
         text.substr(kVersionAt + 1, 2) == kMagic.substr(kVersionAt + 1);
}

/// Whether line ends were converted in the magic number.
bool IsConverted(Bytes head) { return AsText(head).starts_with("\x89MCAP0\n"); }

/// Fails if `head` starts a file of another version, or if line ends were
/// converted.
Status CheckMagic(Bytes head) {
  if (IsConverted(head)) {
    return Error{Code::kNotContainer,
                 "an MCAP recording whose line ends were converted, so that it "
                 "is damaged: copy it again in binary mode",
                 0};
  }
  const std::string_view magic = AsText(head);
  // Only a file that was truncated after its format was recognised is this
  // short. LoadHeader rejects it.
  if (magic.size() <= kVersionAt) return {};
  if (magic[kVersionAt] == kMagic[kVersionAt]) return {};
  return Error{Code::kVersion,
               fmt::format("version: the version is {}, and ctxfs reads 0",
                           Quote(magic.substr(kVersionAt, 1))),
               kVersionAt};
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
  const Result<uint64_t> data = LoadHeader(context);
  index_ = CTXFS_TRY(ReadIndex(*chunks_, data, options_, context));
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

Container::Tables Recording::Files() const {
  Tables tables = {EntryFiles()};
  for (uint32_t i = 0; i < index_.channels.size(); ++i) {
    AddMessageFiles(i, tables);
  }
  AddPictureFiles(tables);
  return tables;
}

// The data end record has a checksum of the whole file before it.
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
