// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

/// Bytes of a MessageIndex record without messages, and of each message.
constexpr uint64_t kIndexHead = kHeadSize + 2 + 4;
constexpr uint64_t kIndexItem = 16;
constexpr uint64_t kFooterSize = 20;
constexpr uint64_t kDataEndSize = 4;

/// A record of the data section by its index.
struct Indexed {
  uint64_t begin;
  uint64_t end;  // with the message indexes of a chunk
  std::variant<FileRecord, std::pair<Chunk, Counts>> record;
};

/// Reads the records of a summary.
class SummaryReader {
 public:
  SummaryReader(const Source& source, const Footer& footer, uint64_t data,
                const Request& request)
      : source_(source), footer_(footer), data_(data), request_(request) {}

  Result<Summary> Read();

 private:
  Status ReadRecords();
  Status Add(const Record& record, Bytes content);
  void AddChunkIndex(ByteReader& in);
  void AddFileIndex(Op op, ByteReader& in);
  void AddStatistics(ByteReader& in);
  /// The record of `length` bytes, head included, at `at`; nullopt if it or the
  /// bytes `behind` it do not lie in the data section.
  std::optional<Record> Locate(Op op, uint64_t at, uint64_t length,
                               uint64_t behind = 0);
  /// Returns the number of messages of each channel in a chunk, by the places
  /// of its message indexes, which must fill [begin, end).
  Counts CountsOf(std::string_view map, uint64_t begin, uint64_t end);
  void Contradict(std::string why) {
    if (summary_.contradiction.empty()) summary_.contradiction = std::move(why);
  }
  bool IsComplete();
  Status Build();

  const Source& source_;
  const Footer& footer_;
  const uint64_t data_;
  const Request& request_;
  Summary summary_;
  std::pair<uint64_t, uint64_t> times_;
  IndexBuilder builder_;
  std::map<Op, uint64_t> found_;  // records
  std::vector<Indexed> indexed_;
  uint64_t messages_ = 0;  // in all chunks
};

std::optional<Record> SummaryReader::Locate(Op op, uint64_t at, uint64_t length,
                                            uint64_t behind) {
  const auto bytes = CheckedAdd(length, behind);
  if (length >= kHeadSize && at >= data_ && bytes &&
      InBounds(at, *bytes, footer_.summary)) {
    return Record{op, at, length - kHeadSize};
  }
  Contradict("an index leads out of the data section");
  return std::nullopt;
}

Counts SummaryReader::CountsOf(std::string_view map, uint64_t begin,
                               uint64_t end) {
  std::vector<std::pair<uint64_t, uint16_t>> places;
  for (ByteReader in(AsBytes(map)); in.ok() && in.remaining() > 0;) {
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
  const uint64_t at = in.U64();
  const uint64_t length = in.U64();
  const std::string_view map = TakeText(in);
  const uint64_t behind = in.U64();
  chunk.compression = CompressionOf(TakeText(in));
  in.Skip(sizeof(uint64_t));  // compressed size
  chunk.size = in.U64();
  if (!in.ok()) return;
  const auto record = Locate(Op::kChunk, at, length, behind);
  if (!record) return;
  chunk.record = *record;
  const uint64_t end = record->end() + behind;
  indexed_.push_back(
      {at, end, std::pair(chunk, CountsOf(map, record->end(), end))});
}

void SummaryReader::AddFileIndex(Op op, ByteReader& in) {
  FileRecord file;
  const uint64_t at = in.U64();
  const uint64_t length = in.U64();
  if (op == Op::kAttachment) {
    const uint64_t log_time = in.U64();
    const uint64_t create_time = in.U64();
    file.time = create_time != 0 ? create_time : log_time;
    file.size = in.U64();
  }
  file.name = TakeText(in);
  if (op == Op::kAttachment) file.media_type = TakeText(in);
  if (!in.ok()) return;
  const auto record = Locate(op, at, length);
  if (!record) return;
  if (file.size > record->length) {
    return Contradict("an attachment is longer than its record");
  }
  file.record = *record;
  indexed_.push_back({at, record->end(), std::move(file)});
}

void SummaryReader::AddStatistics(ByteReader& in) {
  const uint64_t messages = in.U64();
  const std::map<Op, uint64_t> records = {{Op::kSchema, in.U16()},
                                          {Op::kChannel, in.U32()},
                                          {Op::kAttachmentIndex, in.U32()},
                                          {Op::kMetadataIndex, in.U32()},
                                          {Op::kChunkIndex, in.U32()}};
  const uint64_t first = in.U64();
  const uint64_t last = in.U64();
  if (!in.ok()) return;
  summary_.messages = messages;
  summary_.records = records;
  times_ = {first, last};
}

Status SummaryReader::Add(const Record& record, Bytes content) {
  CTXFS_TRY(HeapAllowance::Check());
  if (indexed_.size() > kMaxRecords) {
    return OverLimit("limit: chunks, attachments and metadata", kMaxRecords);
  }
  ++found_[record.op];
  if (record.defines()) return builder_.Define(record, content);
  ByteReader in(content);
  if (record.op == Op::kChunkIndex) AddChunkIndex(in);
  if (record.op == Op::kAttachmentIndex) AddFileIndex(Op::kAttachment, in);
  if (record.op == Op::kMetadataIndex) AddFileIndex(Op::kMetadata, in);
  if (record.op == Op::kStatistics) AddStatistics(in);
  return in.ok() ? Status() : BadRecord(record);
}

bool SummaryReader::IsComplete() {
  if (!summary_.messages) return false;
  bool complete = messages_ == *summary_.messages;
  for (const auto& [op, count] : summary_.records) {
    const uint64_t found = found_[op];
    complete = complete && found == count;
    // Writers may leave out a whole group of records, but not some of it.
    if (found == 0 || found == count) continue;
    Contradict(
        fmt::format("its statistics count {} records of a kind, and it has {}",
                    count, found));
  }
  if (messages_ > *summary_.messages) {
    Contradict(
        fmt::format("its statistics count {} messages, and its chunks have {}",
                    *summary_.messages, messages_));
  }
  std::ranges::sort(indexed_, {}, &Indexed::begin);
  for (size_t i = 1; i < indexed_.size(); ++i) {
    if (indexed_[i].begin >= indexed_[i - 1].end) continue;
    Contradict("records overlap by their indexes");
  }
  return complete && summary_.contradiction.empty();
}

Status SummaryReader::Build() {
  for (Indexed& one : indexed_) {
    if (const auto* const chunk = std::get_if<1>(&one.record)) {
      CTXFS_TRY(builder_.AddChunk(chunk->first, chunk->second));
    } else {
      CTXFS_TRY(builder_.AddFile(std::get<FileRecord>(std::move(one.record))));
    }
  }
  if (messages_ > 0) builder_.index.times = times_;
  // The data end stands before the summary, unless it has further bytes.
  const Record end{Op::kDataEnd, footer_.summary - kHeadSize - kDataEndSize,
                   kDataEndSize};
  if (ReadRecord(source_, end, 0, request_)) builder_.index.data_end = end;
  summary_.index = std::move(builder_).Finish();
  return {};
}

Status SummaryReader::ReadRecords() {
  RecordReader reader(source_, footer_.summary, footer_.at, request_);
  while (const std::optional<Record> record = CTXFS_TRY(reader.Next())) {
    CTXFS_TRY(Add(*record, CTXFS_TRY(reader.Start(*record, kMaxSchemaBytes))));
  }
  return {};
}

Result<Summary> SummaryReader::Read() {
  const Status done = ReadRecords();
  if (!done && IsDamage(done.error())) return Within("summary", done.error());
  if (!done) return done.error();
  if (IsComplete()) CTXFS_TRY(Build());
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
  if (!verify) return {};
  // The checksum covers the footer up to itself, too.
  const uint64_t end = footer.at + kHeadSize + 2 * sizeof(uint64_t);
  return CompareCrc(
      source, footer.summary, end, footer.crc,
      {Code::kChecksum, "summary_crc: the summary", footer.summary}, request);
}

Result<Summary> ReadSummary(const Source& source, const Footer& footer,
                            uint64_t data, const Request& request) {
  return SummaryReader(source, footer, data, request).Read();
}

}  // namespace ctxfs::mcap
