// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/formats/mcap/index.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

/// Bytes of a MessageIndex record without messages, and of each message.
constexpr uint64_t kIndexHead = kHeadSize + 2 + 4;
constexpr uint64_t kIndexItem = 16;
constexpr uint64_t kFooterSize = 20;
constexpr uint64_t kDataEndSize = 4;

/// Reads the records of a summary.
class SummaryReader {
 public:
  SummaryReader(const Source& source, const Footer& footer, uint64_t data)
      : source_(source), footer_(footer), data_(data) {}

  Result<Summary> Read(const Request& request);

 private:
  Status Add(const Record& record, Bytes content);
  void AddChunkIndex(ByteReader& in);
  void AddFileIndex(Op op, ByteReader& in);
  void AddStatistics(ByteReader& in);
  /// Returns the number of messages of each channel in a chunk, by the places
  /// of its message indexes, which must fill [begin, end).
  Counts CountsOf(Bytes map, uint64_t begin, uint64_t end);
  /// Adds bytes that an index describes: of a record, and behind it. Returns
  /// whether they lie in the data section.
  bool AddSpan(uint64_t begin, uint64_t length, uint64_t behind);
  void Contradict(std::string why) {
    if (summary_.contradiction.empty()) summary_.contradiction = std::move(why);
  }
  bool IsComplete();
  Status Build(const Request& request);

  const Source& source_;
  const Footer& footer_;
  const uint64_t data_;
  Summary summary_;
  std::optional<std::pair<uint64_t, uint64_t>> times_;
  IndexBuilder builder_;
  uint64_t schemas_ = 0;   // records
  uint64_t channels_ = 0;  // records
  std::vector<std::pair<Chunk, Counts>> chunks_;
  uint64_t messages_ = 0;  // in all chunks
  std::vector<FileRecord> attachments_;
  std::vector<FileRecord> metadata_;
  std::vector<std::pair<uint64_t, uint64_t>> spans_;  // begin and end
};

bool SummaryReader::AddSpan(uint64_t begin, uint64_t length, uint64_t behind) {
  const auto bytes = CheckedAdd(length, behind);
  if (length < kHeadSize || begin < data_ || !bytes ||
      !InBounds(begin, *bytes, footer_.summary)) {
    Contradict("an index leads out of the data section");
    return false;
  }
  spans_.emplace_back(begin, begin + *bytes);
  return true;
}

Counts SummaryReader::CountsOf(Bytes map, uint64_t begin, uint64_t end) {
  std::vector<std::pair<uint64_t, uint16_t>> places;
  for (ByteReader in(map); in.ok() && in.remaining() > 0;) {
    const uint16_t channel = in.U16();
    places.emplace_back(in.U64(), channel);
  }
  std::ranges::sort(places);
  Counts counts;
  bool sound = places.empty() || places.front().first == begin;
  for (size_t i = 0; i < places.size() && sound; ++i) {
    const uint64_t next = i + 1 < places.size() ? places[i + 1].first : end;
    const uint64_t bytes = next - places[i].first;
    const uint64_t count = (bytes - kIndexHead) / kIndexItem;
    sound = next <= end && bytes >= kIndexHead &&
            (bytes - kIndexHead) % kIndexItem == 0 && count <= kMaxMessages;
    if (count == 0 || !sound) continue;
    counts.emplace_back(places[i].second, static_cast<uint32_t>(count));
    messages_ += count;
  }
  if (!sound) Contradict("the message indexes of a chunk do not follow it");
  return counts;
}

void SummaryReader::AddChunkIndex(ByteReader& in) {
  Chunk chunk{};
  in.Skip(2 * sizeof(uint64_t));  // start and end
  chunk.at = in.U64();
  const uint64_t length = in.U64();
  const std::string_view map = TakeText(in);
  const uint64_t behind = in.U64();
  chunk.compression = CompressionOf(TakeText(in));
  in.Skip(sizeof(uint64_t));  // compressed size
  chunk.size = in.U64();
  if (!in.ok() || !AddSpan(chunk.at, length, behind)) return;
  chunk.length = length - kHeadSize;
  const uint64_t end = chunk.at + length;
  chunks_.emplace_back(chunk, CountsOf(AsBytes(map), end, end + behind));
}

void SummaryReader::AddFileIndex(Op op, ByteReader& in) {
  FileRecord file;
  const bool attachment = op == Op::kAttachment;
  const uint64_t at = in.U64();
  const uint64_t length = in.U64();
  if (attachment) {
    file.log_time = in.U64();
    file.create_time = in.U64();
    file.size = in.U64();
  }
  file.name = TakeText(in);
  if (attachment) file.media_type = TakeText(in);
  if (!in.ok() || !AddSpan(at, length, 0)) return;
  file.record = {op, at, length - kHeadSize};
  if (file.size > file.record.length) {
    Contradict("an attachment is longer than its record");
    return;
  }
  (attachment ? attachments_ : metadata_).push_back(std::move(file));
}

void SummaryReader::AddStatistics(ByteReader& in) {
  const uint64_t messages = in.U64();
  summary_.counts = {in.U16(), in.U32(), in.U32(), in.U32(), in.U32()};
  const uint64_t first = in.U64();
  const uint64_t last = in.U64();
  if (!in.ok()) return;
  summary_.messages = messages;
  times_ = {first, last};
}

Status SummaryReader::Add(const Record& record, Bytes content) {
  CTXFS_TRY(HeapAllowance::Check());
  if (spans_.size() > kMaxRecords) {
    return OverLimit("limit: chunks, attachments and metadata", kMaxRecords);
  }
  ByteReader in(content);
  switch (record.op) {
    case Op::kSchema:
    case Op::kChannel:
      ++(record.op == Op::kSchema ? schemas_ : channels_);
      return builder_.Define(record, content);
    case Op::kChunkIndex:
      AddChunkIndex(in);
      break;
    case Op::kAttachmentIndex:
      AddFileIndex(Op::kAttachment, in);
      break;
    case Op::kMetadataIndex:
      AddFileIndex(Op::kMetadata, in);
      break;
    case Op::kStatistics:
      AddStatistics(in);
      break;
    default:
      break;
  }
  return in.ok() ? Status() : BadRecord(record, kFieldPastEnd);
}

bool SummaryReader::IsComplete() {
  if (!summary_.messages) return false;
  const std::array<uint64_t, 5> found = {schemas_, channels_,
                                         attachments_.size(), metadata_.size(),
                                         chunks_.size()};
  for (size_t i = 0; i < found.size(); ++i) {
    // Writers may leave out a whole group of records, but not some of it.
    if (found[i] == 0 || found[i] == summary_.counts[i]) continue;
    Contradict(
        fmt::format("its statistics count {} records of a kind, and it "
                    "has {}",
                    summary_.counts[i], found[i]));
  }
  if (messages_ > *summary_.messages) {
    Contradict(
        fmt::format("its statistics count {} messages, and its chunks "
                    "have {}",
                    *summary_.messages, messages_));
  }
  std::ranges::sort(spans_);
  for (size_t i = 1; i < spans_.size(); ++i) {
    if (spans_[i].first >= spans_[i - 1].second) continue;
    Contradict("records overlap by their indexes");
  }
  return found == summary_.counts && messages_ == *summary_.messages &&
         summary_.contradiction.empty();
}

Status SummaryReader::Build(const Request& request) {
  const auto place = [](const FileRecord& one) { return one.record.at; };
  std::ranges::sort(chunks_, {}, [](const auto& one) { return one.first.at; });
  std::ranges::sort(attachments_, {}, place);
  std::ranges::sort(metadata_, {}, place);
  for (const auto& [chunk, counts] : chunks_) {
    CTXFS_TRY(builder_.AddChunk(chunk, counts));
  }
  Index& index = builder_.index;
  for (FileRecord& one : attachments_) {
    CTXFS_TRY(builder_.AddFile(index.attachments, std::move(one)));
  }
  for (FileRecord& one : metadata_) {
    CTXFS_TRY(builder_.AddFile(index.metadata, std::move(one)));
  }
  if (messages_ > 0) index.times = times_;
  // The data end stands before the summary, unless it has further bytes.
  const uint64_t at = footer_.summary - kHeadSize - kDataEndSize;
  const Result<Record> end =
      ReadIndexed(source_, Op::kDataEnd, at, kDataEndSize, request);
  if (end) index.data_end = *end;
  summary_.index = std::move(builder_).Finish();
  return {};
}

Result<Summary> SummaryReader::Read(const Request& request) {
  RecordReader reader(source_, footer_.summary, footer_.at);
  const auto read = [&]() -> Status {
    while (true) {
      const std::optional<Record> record = CTXFS_TRY(reader.Next(request));
      if (!record) return {};
      const Bytes content =
          CTXFS_TRY(reader.Start(*record, kMaxSchemaBytes, request));
      CTXFS_TRY(Add(*record, content));
    }
  };
  const Status done = read();
  if (!done && IsDamage(done.error())) return Within("summary", done.error());
  if (!done) return done.error();
  if (IsComplete()) CTXFS_TRY(Build(request));
  return std::move(summary_);
}

}  // namespace

Result<Footer> ReadFooter(const Source& source, const Request& request) {
  constexpr uint64_t kTail = kHeadSize + kFooterSize + kMagic.size();
  const uint64_t size = source.size();
  const Error none{Code::kCorrupt,
                   "no_footer: the file does not end in a footer and the magic "
                   "number, as if its writer was stopped",
                   size};
  if (size < kMagic.size() + kTail) return none;
  const Buffer tail =
      CTXFS_TRY(ReadBuffer(source, size - kTail, kTail, "footer", request));
  ByteReader in(tail.span());
  const auto op = static_cast<Op>(in.U8());
  const uint64_t length = in.U64();
  Footer footer{.at = size - kTail, .summary = in.U64(), .crc = 0};
  in.Skip(sizeof(uint64_t));  // summary offsets
  footer.crc = in.U32();
  const bool sound = op == Op::kFooter && length == kFooterSize &&
                     AsText(in.Take(kMagic.size())) == kMagic;
  return sound ? Result<Footer>(footer) : none;
}

Status CheckSummary(const Source& source, const Footer& footer, uint64_t data,
                    bool verify, const Request& request) {
  if (footer.summary == 0) return {};
  if (footer.summary < data || footer.summary > footer.at) {
    return Error{Code::kCorrupt,
                 fmt::format("summary: it starts at byte {}, outside of the "
                             "bytes behind the header",
                             footer.summary),
                 footer.at + kHeadSize};
  }
  if (!verify || footer.crc == 0) return {};
  // The checksum covers the footer up to itself, too.
  const uint64_t end = footer.at + kHeadSize + 2 * sizeof(uint64_t);
  const uint32_t crc = CTXFS_TRY(Crc32Of(source, footer.summary, end, request));
  if (crc == footer.crc) return {};
  return Error{Code::kChecksum,
               fmt::format("summary_crc: the summary has the checksum {:08x}, "
                           "not {:08x}",
                           crc, footer.crc),
               footer.summary};
}

Result<Summary> ReadSummary(const Source& source, const Footer& footer,
                            uint64_t data, const Request& request) {
  return SummaryReader(source, footer, data).Read(request);
}

Status AddSummaryChannels(const Source& source, const Footer& footer,
                          IndexBuilder& builder, const Request& request) {
  RecordReader reader(source, footer.summary, footer.at);
  while (true) {
    const std::optional<Record> record = CTXFS_TRY(reader.Next(request));
    if (!record) return {};
    if (!record->defines()) continue;
    const Bytes content =
        CTXFS_TRY(reader.Start(*record, kMaxSchemaBytes, request));
    CTXFS_TRY(builder.Define(*record, content));
  }
}

}  // namespace ctxfs::mcap
