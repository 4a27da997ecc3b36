// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/read_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/work.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

/// Bytes of a MessageIndex record without its items.
constexpr uint64_t kIndexHead = kHeadSize + 2 + 4;
constexpr uint64_t kIndexItem = 16;  // bytes a message has in it
constexpr uint64_t kFooterSize = 20;
constexpr uint64_t kDataEndSize = 4;
constexpr uint64_t kChunksNamed = 100;  // most that get a warning each

/// Fields of the footer record, and its offset.
struct Footer {
  uint64_t at;
  uint64_t summary;  // byte of the file; 0: none
  uint32_t crc;      // 0: none
};

/// Which records of a part of a file are used.
enum class Take : uint8_t {
  kSummary,      // definitions, indexes and statistics
  kDefinitions,  // schemas and channels
  kData,         // all up to the data end record
  kSalvaged,     // like kData; after the data end, definitions
};

/// A record of the data section, as the summary describes it.
struct Indexed {
  uint64_t begin;
  uint64_t end;  // for a chunk, of its message indexes
  std::variant<FileRecord, std::pair<Chunk, Counts>> record;
};

/// The statistics record of a summary.
struct Statistics {
  uint64_t messages;
  std::map<Op, uint64_t> records;  // of the summary
  std::pair<uint64_t, uint64_t> times;
};

class IndexReader {
 public:
  IndexReader(const Chunks& chunks, uint64_t data, const ReadContext& context)
      : chunks_(chunks),
        data_(data),
        context_(context),
        work_(WorkLimit().On(chunks.source().size())) {}

  /// Returns the index from the summary if that is complete, else from a walk.
  Result<Index> ReadOrWalk(const Footer& footer);
  /// Walks the file up to its first invalid record, and warns of `reason`, the
  /// damage. `footer` must be null unless CheckSummary has passed.
  Result<Index> Salvage(const Footer* footer, const Error& reason);

 private:
  /// Adds the records in [begin, end) to the index, one by one.
  Status Read(Take take, uint64_t begin, uint64_t end);

  // Functions that read a summary.
  Status AddIndex(const Record& record, Bytes content);
  void AddChunkIndex(ByteReader& in);
  void AddFileIndex(Op op, ByteReader& in);
  void AddStatistics(ByteReader& in);
  /// Returns the record at byte `at` that has `length` bytes, opcode and length
  /// included, and is followed by `behind` bytes of message indexes. If these
  /// bytes exceed the data section, returns nullopt and calls Contradict.
  std::optional<Record> Locate(Op op, uint64_t at, uint64_t length,
                               uint64_t behind = 0);
  /// Returns the number of messages of each channel in a chunk, computed from
  /// the offsets of its message indexes. Calls Contradict unless these fill
  /// [begin, end).
  Counts CountsOf(std::string_view map, uint64_t begin, uint64_t end);
  void Contradict(std::string why) {
    if (contradiction_.empty()) contradiction_ = std::move(why);
  }
  /// Whether the summary proves that it is complete.
  bool IsComplete();
  /// Adds the records that a complete summary describes.
  Status AddIndexed();
  /// Whether the statistics of the summary agree with the records of the walk.
  bool Agrees() const;

  // Functions that walk the data section.
  Status AddData(const Record& record, RecordReader& reader);
  Status AddChunk(const Record& record);
  struct Examined {
    BlockCache::Pinned decoded;
    std::vector<Record> definitions;
  };
  /// Decodes a chunk and parses all its records, before any of them is added to
  /// the index.
  Result<Layout> Examine(const Chunk& chunk, Examined& found);
  void WarnOfChunk(const Chunk& chunk, Error error);
  Index FinishWalk();

  const Chunks& chunks_;
  const uint64_t data_;
  const ReadContext& context_;
  IndexBuilder builder_;

  uint64_t summary_ = 0;          // end of the data section
  std::map<Op, uint64_t> found_;  // records of the summary
  std::vector<Indexed> indexed_;
  uint64_t messages_ = 0;  // of all chunks in the summary
  std::optional<Statistics> statistics_;
  /// Why the summary contradicts itself or the file. Empty for a summary that
  /// is complete or only lacks records.
  std::string contradiction_;

  Work work_;  // bounds the decoded bytes of a walk
  uint64_t bad_chunks_ = 0;
};

Status IndexReader::Read(Take take, uint64_t begin, uint64_t end) {
  RecordReader reader(chunks_.source(), begin, end, context_);
  const bool walks = take == Take::kData || take == Take::kSalvaged;
  bool in_data = walks;
  while (const std::optional<Record> record = CTXFS_TRY(reader.Next())) {
    if (walks && record->op == Op::kFooter) break;
    if (record->defines()) {
      ++found_[record->op];
      CTXFS_TRY(builder_.Define(
          *record, CTXFS_TRY(reader.Start(*record, kMaxSchemaBytes))));
    } else if (take == Take::kSummary) {
      CTXFS_TRY(
          AddIndex(*record, CTXFS_TRY(reader.Start(*record, kMaxSchemaBytes))));
    } else if (in_data && record->op == Op::kDataEnd) {
      builder_.index.data_end = *record;
      if (take == Take::kData) break;
      builder_.TakeNewDefinitionsAlone();
      in_data = false;
    } else if (in_data) {
      CTXFS_TRY(AddData(*record, reader));
    }
  }
  return {};
}

std::optional<Record> IndexReader::Locate(Op op, uint64_t at, uint64_t length,
                                          uint64_t behind) {
  const auto bytes = CheckedAdd(length, behind);
  if (length >= kHeadSize && at >= data_ && bytes &&
      InBounds(at, *bytes, summary_)) {
    return Record{op, at, length - kHeadSize};
  }
  Contradict("an index leads out of the data section");
  return std::nullopt;
}

Counts IndexReader::CountsOf(std::string_view map, uint64_t begin,
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

void IndexReader::AddChunkIndex(ByteReader& in) {
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

void IndexReader::AddFileIndex(Op op, ByteReader& in) {
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

void IndexReader::AddStatistics(ByteReader& in) {
  const uint64_t messages = in.U64();
  const std::map<Op, uint64_t> records = {{Op::kSchema, in.U16()},
                                          {Op::kChannel, in.U32()},
                                          {Op::kAttachmentIndex, in.U32()},
                                          {Op::kMetadataIndex, in.U32()},
                                          {Op::kChunkIndex, in.U32()}};
  const uint64_t first = in.U64();
  const uint64_t last = in.U64();
  if (in.ok()) statistics_ = {messages, records, {first, last}};
}

Status IndexReader::AddIndex(const Record& record, Bytes content) {
  CTXFS_TRY(HeapAllowance::Check());
  if (indexed_.size() > kMaxRecords) {
    return OverLimit("limit: chunks, attachments and metadata", kMaxRecords);
  }
  ++found_[record.op];
  ByteReader in(content);
  if (record.op == Op::kChunkIndex) AddChunkIndex(in);
  if (record.op == Op::kAttachmentIndex) AddFileIndex(Op::kAttachment, in);
  if (record.op == Op::kMetadataIndex) AddFileIndex(Op::kMetadata, in);
  if (record.op == Op::kStatistics) AddStatistics(in);
  return in.ok() ? Status() : BadRecord(record);
}

bool IndexReader::IsComplete() {
  if (!statistics_) return false;
  bool complete = messages_ == statistics_->messages;
  for (const auto& [op, count] : statistics_->records) {
    const uint64_t found = found_[op];
    complete = complete && found == count;
    // Writers may omit all records of a kind, but not some of them.
    if (found == 0 || found == count) continue;
    Contradict(
        fmt::format("its statistics count {} records of a kind, and it has {}",
                    count, found));
  }
  if (messages_ > statistics_->messages) {
    Contradict(
        fmt::format("its statistics count {} messages, and its chunks have {}",
                    statistics_->messages, messages_));
  }
  std::ranges::sort(indexed_, {}, &Indexed::begin);
  for (size_t i = 1; i < indexed_.size(); ++i) {
    if (indexed_[i].begin >= indexed_[i - 1].end) continue;
    Contradict("records overlap by their indexes");
  }
  return complete && contradiction_.empty();
}

Status IndexReader::AddIndexed() {
  for (Indexed& one : indexed_) {
    if (const auto* const chunk = std::get_if<1>(&one.record)) {
      CTXFS_TRY(builder_.AddChunk(chunk->first, chunk->second));
    } else {
      CTXFS_TRY(builder_.AddFile(std::get<FileRecord>(std::move(one.record))));
    }
  }
  if (messages_ > 0) builder_.index.times = statistics_->times;
  // The data end record ends where the summary begins. If it has bytes after
  // its checksum, it is not found here, and its checksum is not compared.
  const Record end{Op::kDataEnd, summary_ - kHeadSize - kDataEndSize,
                   kDataEndSize};
  if (ReadRecord(chunks_.source(), end, 0, context_)) {
    builder_.index.data_end = end;
  }
  return {};
}

bool IndexReader::Agrees() const {
  const Index& index = builder_.index;
  const auto count = [this](Op op) { return statistics_->records.at(op); };
  return statistics_->messages == index.messages &&
         count(Op::kAttachmentIndex) == index.attachments.size() &&
         count(Op::kMetadataIndex) == index.metadata.size() &&
         count(Op::kChunkIndex) == index.chunks.size();
}

void IndexReader::WarnOfChunk(const Chunk& chunk, Error error) {
  if (++bad_chunks_ > kChunksNamed) return;
  if (error.offset != chunk.record.at)
    error = Within("chunk", std::move(error));
  const bool other = chunk.compression == Compression::kOther;
  builder_.index.warnings.push_back(
      {error.what + "; its messages are not shown", chunk.record.at,
       other ? Severity::kPartial : Severity::kDamage});
}

Result<Layout> IndexReader::Examine(const Chunk& chunk, Examined& found) {
  CTXFS_TRY(CheckChunk(chunk));
  CTXFS_TRY(work_.Charge(chunk.size + chunk.record.length));
  const auto verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  found.decoded = CTXFS_TRY(context_.Get(*chunks_.BlockOf(chunk, verdict)));
  return LayoutOf(found.decoded->span(), &found.definitions, context_);
}

Status IndexReader::AddChunk(const Record& record) {
  const Chunk chunk = CTXFS_TRY(ReadChunk(chunks_.source(), record, context_));
  Examined found;
  Result<Layout> layout = Examine(chunk, found);
  for (const Record& one : found.definitions) {
    if (!layout) break;
    Status defined = builder_.Define(
        one, found.decoded->span().subspan(static_cast<size_t>(one.content()),
                                           static_cast<size_t>(one.length)));
    if (!defined && !IsDamage(defined.error())) return defined;
    if (!defined) layout = std::move(defined).error();
  }
  if (!layout && !layout.error().Permanent()) return layout.error();
  if (!layout) {
    WarnOfChunk(chunk, layout.error());
    return {};
  }
  for (const Place& one : layout->places) builder_.AddTime(one.fields.log_time);
  builder_.index.unordered.insert(layout->unordered.begin(),
                                  layout->unordered.end());
  return builder_.AddChunk(chunk, layout->counts);
}

Status IndexReader::AddData(const Record& record, RecordReader& reader) {
  if (record.op == Op::kChunk) return AddChunk(record);
  if (record.op == Op::kMessage) {
    const auto message =
        ParseMessage(CTXFS_TRY(reader.Start(record, kMessageFields)));
    return message ? builder_.AddMessage(record, *message) : BadRecord(record);
  }
  if (record.op == Op::kAttachment) {
    return builder_.AddFile(
        CTXFS_TRY(ReadAttachment(chunks_.source(), record, context_)));
  }
  if (record.op != Op::kMetadata) return {};
  ByteReader in(CTXFS_TRY(reader.Start(record, kMaxHeaderBytes)));
  FileRecord file{.record = record, .name = std::string(TakeText(in))};
  return in.ok() ? builder_.AddFile(std::move(file)) : BadRecord(record);
}

Index IndexReader::FinishWalk() {
  builder_.index.walked = true;
  if (bad_chunks_ > kChunksNamed) {
    builder_.index.warnings.push_back(
        {fmt::format("{} more chunks cannot be decoded",
                     bad_chunks_ - kChunksNamed),
         kNoOffset, Severity::kDamage});
  }
  return std::move(builder_).Finish();
}

// A complete summary and the data end record are all that is read.
Result<Index> IndexReader::ReadOrWalk(const Footer& footer) {
  const bool has_summary = footer.summary != 0;
  summary_ = has_summary ? footer.summary : footer.at;
  if (has_summary) {
    Status read = Read(Take::kSummary, summary_, footer.at);
    if (!read && IsDamage(read.error())) return Within("summary", read.error());
    CTXFS_TRY(std::move(read));
    if (IsComplete()) {
      CTXFS_TRY(AddIndexed());
      return std::move(builder_).Finish();
    }
  }
  builder_ = IndexBuilder();
  CTXFS_TRY(Read(Take::kData, data_, summary_));
  // Writers may omit channels without messages from the data section.
  CTXFS_TRY(Read(Take::kDefinitions, summary_, footer.at));
  if (statistics_ && bad_chunks_ == 0 && !Agrees()) {
    Contradict("its statistics are not those of the records");
  }
  Index index = FinishWalk();
  if (!contradiction_.empty()) {
    index.warnings.push_back(
        {"walked: the summary is not used: " + contradiction_, summary_,
         Severity::kNote});
  }
  return index;
}

Result<Index> IndexReader::Salvage(const Footer* footer, const Error& reason) {
  const Status walked = Read(Take::kSalvaged, data_, chunks_.source().size());
  if (!walked && walked.error().code != Code::kCorrupt) return walked.error();
  if (!walked && footer != nullptr && footer->summary != 0) {
    const Status added = Read(Take::kDefinitions, footer->summary, footer->at);
    if (!added && !IsDamage(added.error())) return added.error();
  }
  Index index = FinishWalk();
  std::string text = reason.what;
  if (!walked && !index.data_end && walked.error().what != reason.what) {
    text += fmt::format("; the last record that is shown ends at byte {}",
                        walked.error().offset);
  }
  index.warnings.push_back({std::move(text), reason.offset, Severity::kDamage});
  return index;
}

/// Fails with "summary" if the summary is not between the header and the
/// footer, and with "summary_crc" if its checksum is wrong.
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
  // The checksum also covers the footer up to the checksum itself.
  const uint64_t end = footer.at + kHeadSize + 2 * sizeof(uint64_t);
  return CompareCrc(
      source, footer.summary, end, footer.crc,
      {Code::kChecksum, "summary_crc: the summary", footer.summary}, request);
}

/// Reads the footer, at the end. Fails with kCorrupt, "no_footer", without one.
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

Result<Index> ReadFrom(const Chunks& chunks, uint64_t data,
                       const Result<Footer>& footer, const OpenOptions& options,
                       const ReadContext& context) {
  const bool verify = options.verify;
  const Status sound =
      footer ? CheckSummary(chunks.source(), *footer, data, verify, context)
             : Status(footer.error());
  Result<Index> index =
      sound ? IndexReader(chunks, data, context).ReadOrWalk(*footer)
            : Result<Index>(sound.error());
  if (index) {
    index->summary_verified = !index->walked && verify && footer->crc != 0;
  }
  const bool damaged = !index && (index.error().code == Code::kCorrupt ||
                                  index.error().code == Code::kChecksum);
  if (!damaged || !options.salvage) return index;
  return IndexReader(chunks, data, context)
      .Salvage(sound ? &*footer : nullptr, index.error());
}

}  // namespace

Result<Index> ReadIndex(const Chunks& chunks, const Result<uint64_t>& data,
                        const OpenOptions& options,
                        const ReadContext& context) {
  if (!data && !data.error().Permanent()) return data.error();
  const Result<Footer> footer = ReadFooter(chunks.source(), context);
  if (data) return ReadFrom(chunks, *data, footer, options, context);
  // The header is damaged. Salvage accepts this only of a file without a
  // footer, which was truncated.
  if (footer) return data.error();
  if (!options.salvage) return footer.error();
  return ReadFrom(chunks, kMagic.size(), footer, options, context);
}

}  // namespace ctxfs::mcap
