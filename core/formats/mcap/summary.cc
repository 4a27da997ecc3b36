// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

/// Bytes of a MessageIndex record without messages, and of each message.
constexpr uint64_t kIndexHead = kHeadSize + 2 + 4;
constexpr uint64_t kIndexItem = 16;
constexpr uint64_t kDataEndSize = 4;

/// Bytes of the file, in the order of their records.
struct Span {
  uint64_t begin;
  uint64_t end;
};

struct IndexedChunk {
  Chunk chunk;
  size_t first_count;  // in SummaryReader::counts_
  size_t counts;
};

/// Reads the records of a summary.
class SummaryReader {
 public:
  SummaryReader(const Source& source, const Footer& footer, uint64_t data)
      : source_(source), footer_(footer), data_(data) {}

  Result<Summary> Read(const Request& request);

 private:
  Status Add(const Record& record, RecordReader& reader,
             const Request& request);
  Status AddChunkIndex(const Record& record, ByteReader in);
  Status AddAttachmentIndex(const Record& record, ByteReader in);
  Status AddMetadataIndex(const Record& record, ByteReader in);
  Status AddStatistics(const Record& record, ByteReader in);
  /// Appends the number of messages of each channel in a chunk, by the places
  /// of its message indexes. Returns whether they fill the bytes up to `end`.
  bool AddCounts(Bytes map, uint64_t begin, uint64_t end);
  /// Adds bytes that an index describes.
  Status AddSpan(uint64_t begin, uint64_t length);
  void Contradict(std::string why) {
    if (contradiction_.empty()) contradiction_ = std::move(why);
  }
  /// Compares a number of records with that of the statistics.
  bool SameCount(const char* what, uint64_t found, uint64_t said);
  bool IsComplete();
  bool SpansAreSound();
  void AddDataEnd(const Request& request);

  const Source& source_;
  const Footer& footer_;
  const uint64_t data_;
  IndexBuilder builder_;
  std::optional<Statistics> statistics_;
  uint64_t schemas_ = 0;   // records
  uint64_t channels_ = 0;  // records
  std::vector<IndexedChunk> chunks_;
  Counts counts_;
  uint64_t messages_ = 0;  // in all chunks
  std::vector<Attachment> attachments_;
  std::vector<MetadataPlace> metadata_;
  std::vector<Span> spans_;
  std::string contradiction_;
};

Status SummaryReader::AddSpan(uint64_t begin, uint64_t length) {
  if (!InBounds(begin, length, footer_.summary) || begin < data_) {
    Contradict("an index leads out of the data section");
    return {};
  }
  if (spans_.size() >= kMaxRecords) {
    return OverLimit("limit: chunks, attachments and metadata", kMaxRecords);
  }
  CTXFS_TRY(AdmitGrowth(spans_));
  spans_.push_back({begin, begin + length});
  return {};
}

bool SummaryReader::AddCounts(Bytes map, uint64_t begin, uint64_t end) {
  std::vector<std::pair<uint64_t, uint16_t>> places;
  ByteReader in(map);
  while (in.ok() && in.remaining() > 0) {
    const uint16_t channel = in.U16();
    places.emplace_back(in.U64(), channel);
  }
  std::ranges::sort(places);
  if (!in.ok() || (!places.empty() && places.front().first != begin)) {
    return false;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const uint64_t next = i + 1 < places.size() ? places[i + 1].first : end;
    const uint64_t bytes = next - places[i].first;
    if (next > end || bytes < kIndexHead ||
        (bytes - kIndexHead) % kIndexItem != 0) {
      return false;
    }
    const uint64_t count = (bytes - kIndexHead) / kIndexItem;
    if (count > kMaxMessages) return false;
    if (count == 0) continue;
    counts_.emplace_back(places[i].second, static_cast<uint32_t>(count));
    messages_ += count;
  }
  return true;
}

Status SummaryReader::AddChunkIndex(const Record& record, ByteReader in) {
  in.Skip(2 * sizeof(uint64_t));  // start and end
  Chunk chunk{};
  chunk.at = in.U64();
  const uint64_t length = in.U64();
  const std::string_view map = TakeText(in);
  const uint64_t index_length = in.U64();
  chunk.compression = CompressionOf(TakeText(in));
  in.Skip(sizeof(uint64_t));  // compressed size
  chunk.size = in.U64();
  if (!in.ok()) return BadRecord(record, kFieldPastEnd);
  chunk.length = length - kHeadSize;
  const auto bytes = CheckedAdd(length, index_length);
  if (length < kHeadSize || !bytes ||
      !InBounds(chunk.at, *bytes, footer_.summary)) {
    Contradict("an index leads out of the data section");
    return {};
  }
  CTXFS_TRY(AddSpan(chunk.at, *bytes));
  CTXFS_TRY(AdmitGrowth(counts_, map.size() / 10));
  const size_t first = counts_.size();
  const uint64_t end = chunk.at + length;
  if (!AddCounts(AsBytes(map), end, end + index_length)) {
    Contradict("the message indexes of a chunk do not follow it");
  }
  CTXFS_TRY(AdmitGrowth(chunks_));
  chunks_.push_back({chunk, first, counts_.size() - first});
  return {};
}

Status SummaryReader::AddAttachmentIndex(const Record& record, ByteReader in) {
  Attachment attachment{};
  attachment.at = in.U64();
  const uint64_t length = in.U64();
  attachment.fields.log_time = in.U64();
  attachment.fields.create_time = in.U64();
  attachment.fields.size = in.U64();
  attachment.fields.name = std::string(TakeText(in));
  attachment.fields.media_type = std::string(TakeText(in));
  if (!in.ok()) return BadRecord(record, kFieldPastEnd);
  attachment.length = length - kHeadSize;
  if (length < kHeadSize || attachment.fields.size > attachment.length) {
    Contradict("an attachment is longer than its record");
    return {};
  }
  CTXFS_TRY(AddSpan(attachment.at, length));
  CTXFS_TRY(AdmitGrowth(attachments_));
  attachments_.push_back(std::move(attachment));
  return {};
}

Status SummaryReader::AddMetadataIndex(const Record& record, ByteReader in) {
  MetadataPlace place{};
  place.at = in.U64();
  const uint64_t length = in.U64();
  place.name = std::string(TakeText(in));
  if (!in.ok()) return BadRecord(record, kFieldPastEnd);
  place.length = length - kHeadSize;
  if (length < kHeadSize) {
    Contradict("a metadata record has no length");
    return {};
  }
  CTXFS_TRY(AddSpan(place.at, length));
  CTXFS_TRY(AdmitGrowth(metadata_));
  metadata_.push_back(std::move(place));
  return {};
}

Status SummaryReader::AddStatistics(const Record& record, ByteReader in) {
  Statistics said{};
  said.messages = in.U64();
  said.schemas = in.U16();
  said.channels = in.U32();
  said.attachments = in.U32();
  said.metadata = in.U32();
  said.chunks = in.U32();
  said.first_time = in.U64();
  said.last_time = in.U64();
  if (!in.ok()) return BadRecord(record, kFieldPastEnd);
  if (!statistics_) statistics_ = said;
  return {};
}

Status SummaryReader::Add(const Record& record, RecordReader& reader,
                          const Request& request) {
  const bool known = IsDefinition(record) || record.op == Op::kChunkIndex ||
                     record.op == Op::kAttachmentIndex ||
                     record.op == Op::kMetadataIndex ||
                     record.op == Op::kStatistics;
  if (!known) return {};
  const Bytes content =
      CTXFS_TRY(reader.Start(record, kMaxSchemaBytes, request));
  switch (record.op) {
    case Op::kChunkIndex:
      return AddChunkIndex(record, ByteReader(content));
    case Op::kAttachmentIndex:
      return AddAttachmentIndex(record, ByteReader(content));
    case Op::kMetadataIndex:
      return AddMetadataIndex(record, ByteReader(content));
    case Op::kStatistics:
      return AddStatistics(record, ByteReader(content));
    default:
      ++(record.op == Op::kSchema ? schemas_ : channels_);
      return builder_.Add(record, content);
  }
}

// Writers may leave out a whole group of records, but not some of it.
bool SummaryReader::SameCount(const char* what, uint64_t found, uint64_t said) {
  if (found == said) return true;
  if (found > 0) {
    Contradict(fmt::format("it has {} {}, and its statistics say {}", found,
                           what, said));
  }
  return false;
}

bool SummaryReader::SpansAreSound() {
  std::ranges::sort(spans_, {}, &Span::begin);
  for (size_t i = 1; i < spans_.size(); ++i) {
    if (spans_[i].begin >= spans_[i - 1].end) continue;
    Contradict("records overlap by their indexes");
    return false;
  }
  return true;
}

bool SummaryReader::IsComplete() {
  if (!statistics_) return false;
  const Statistics& said = *statistics_;
  const bool same =
      SameCount("schemas", schemas_, said.schemas) &&
      SameCount("channels", channels_, said.channels) &&
      SameCount("attachments", attachments_.size(), said.attachments) &&
      SameCount("metadata records", metadata_.size(), said.metadata) &&
      SameCount("chunks", chunks_.size(), said.chunks);
  if (!same) return false;
  if (messages_ > said.messages) {
    Contradict(
        fmt::format("its chunks have {} messages, and its statistics "
                    "say {}",
                    messages_, said.messages));
  }
  return SpansAreSound() && contradiction_.empty() &&
         messages_ == said.messages;
}

// The record stands before the summary, unless it has bytes behind its field.
void SummaryReader::AddDataEnd(const Request& request) {
  constexpr uint64_t kBytes = kHeadSize + kDataEndSize;
  const uint64_t at = footer_.summary - kBytes;
  if (footer_.summary < kBytes || at < data_) return;
  const Result<Record> found =
      ReadIndexed(source_, Op::kDataEnd, at, kBytes, request);
  if (found) builder_.index().data_end = *found;
}

Result<Summary> SummaryReader::Read(const Request& request) {
  RecordReader reader(source_, footer_.summary, footer_.at);
  while (true) {
    const auto next = reader.Next(request);
    if (!next && !next.error().Permanent()) return next.error();
    if (!next) return Within("summary", next.error());
    if (!next->has_value()) break;
    Status added = Add(**next, reader, request);
    if (!added && added.error().code == Code::kCorrupt) {
      return Within("summary", std::move(added).error());
    }
    CTXFS_TRY(std::move(added));
  }
  Summary summary;
  summary.statistics = statistics_;
  if (!IsComplete()) {
    summary.contradiction = std::move(contradiction_);
    return summary;
  }
  const auto by_place = [](const auto& a, const auto& b) {
    return a.at < b.at;
  };
  std::ranges::sort(chunks_, {},
                    [](const IndexedChunk& one) { return one.chunk.at; });
  std::ranges::sort(attachments_, by_place);
  std::ranges::sort(metadata_, by_place);
  for (const IndexedChunk& one : chunks_) {
    const auto first =
        counts_.begin() + static_cast<std::ptrdiff_t>(one.first_count);
    const Counts counts(first, first + static_cast<std::ptrdiff_t>(one.counts));
    CTXFS_TRY(builder_.AddChunk(one.chunk, counts));
  }
  for (Attachment& one : attachments_) {
    CTXFS_TRY(builder_.AddAttachment(std::move(one)));
  }
  for (MetadataPlace& one : metadata_) {
    CTXFS_TRY(builder_.AddMetadata(std::move(one)));
  }
  if (statistics_->messages > 0) {
    builder_.CountTimes(statistics_->first_time, statistics_->last_time);
  }
  AddDataEnd(request);
  summary.index = std::move(builder_).Finish();
  return summary;
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
  Footer footer{};
  footer.at = size - kTail;
  footer.summary = in.U64();
  in.Skip(sizeof(uint64_t));  // summary offsets
  footer.crc = in.U32();
  if (op != Op::kFooter || length != kFooterSize ||
      AsText(in.Take(kMagic.size())) != kMagic) {
    return none;
  }
  return footer;
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
  constexpr uint64_t kPiece = 256 * limits::kKiB;
  // The checksum covers the footer up to itself, too.
  const uint64_t end = footer.at + kHeadSize + 2 * sizeof(uint64_t);
  uint32_t crc = 0;
  for (uint64_t at = footer.summary; at < end;) {
    CTXFS_TRY(request.Check());
    const Buffer piece = CTXFS_TRY(
        ReadBuffer(source, at, std::min(kPiece, end - at), "summary", request));
    crc = Crc32(piece.span(), crc);
    at += piece.size();
  }
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
    if (!IsDefinition(*record)) continue;
    const Bytes content =
        CTXFS_TRY(reader.Start(*record, kMaxSchemaBytes, request));
    CTXFS_TRY(builder.Add(*record, content));
  }
}

}  // namespace ctxfs::mcap
