// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/scan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/errors.h"
#include "core/base/work.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

/// Maximum of warnings of chunks.
constexpr uint64_t kChunksNamed = 100;

class Walker {
 public:
  Walker(const Chunks& chunks, const WalkRange& range, IndexBuilder& builder)
      : chunks_(chunks),
        source_(*chunks.source()),
        range_(range),
        builder_(builder),
        reader_(source_, range.begin, range.end),
        work_(WorkLimit().On(source_.size())) {}

  Result<Walked> Run(const ReadContext& context);

 private:
  /// Adds a record; returns whether the walk goes on.
  Result<bool> Add(const Record& record, const ReadContext& context);
  Status AddMessage(const Record& record, const ReadContext& context);
  Status AddChunk(const Record& record, const ReadContext& context);
  /// Decodes a chunk and counts its messages.
  Result<BlockCache::Pinned> Decode(const Chunk& chunk,
                                    const ReadContext& context);
  Status AddAttachment(const Record& record, const Request& request);
  Status AddMetadata(const Record& record, const Request& request);
  void NoteOrder(const MessageRecord& message);
  void WarnOfChunk(const Chunk& chunk, Error error);

  const Chunks& chunks_;
  const Source& source_;
  const WalkRange range_;
  IndexBuilder& builder_;
  RecordReader reader_;
  Work work_;  // bounds what all chunks decode to
  Walked walked_;
  bool in_data_ = true;
  std::unordered_map<uint16_t, uint64_t> last_times_;  // by channel
  uint64_t bad_chunks_ = 0;
  // Of the messages in the chunk that was decoded last.
  std::map<uint16_t, uint32_t> counts_;
  std::optional<std::pair<uint64_t, uint64_t>> times_;
};

Status Walker::AddMessage(const Record& record, const ReadContext& context) {
  const Bytes fields =
      CTXFS_TRY(reader_.Start(record, kMessageFields, context));
  const auto message = ParseMessage(fields);
  if (!message) return BadRecord(record, kFieldPastEnd);
  NoteOrder(*message);
  return builder_.AddMessage(*message, record);
}

void Walker::NoteOrder(const MessageRecord& message) {
  uint64_t& last = last_times_[message.channel];
  if (message.log_time < last) {
    builder_.index().unordered.insert(message.channel);
  }
  last = message.log_time;
}

void Walker::WarnOfChunk(const Chunk& chunk, Error error) {
  walked_.lacks_chunks = true;
  if (++bad_chunks_ > kChunksNamed) return;
  if (error.offset != chunk.at) error = Within("chunk", std::move(error));
  const bool other = chunk.compression == Compression::kOther;
  builder_.index().warnings.push_back(
      {error.what + "; its messages are not shown", chunk.at,
       other ? Severity::kPartial : Severity::kDamage});
}

Result<BlockCache::Pinned> Walker::Decode(const Chunk& chunk,
                                          const ReadContext& context) {
  if (std::optional<Error> fault = ChunkFault(chunk)) return *std::move(fault);
  CTXFS_TRY(work_.Charge(chunk.size + chunk.length));
  BlockCache::Pinned decoded = CTXFS_TRY(chunks_.Decode(chunk, context));
  counts_.clear();
  times_.reset();
  CTXFS_TRY(ForEachRecord(decoded->span(), context,
                          [&](const Record& record, Bytes content) -> Status {
                            if (record.op != Op::kMessage) return {};
                            const auto message = ParseMessage(content);
                            if (!message)
                              return BadRecord(record, kFieldPastEnd);
                            ++counts_[message->channel];
                            NoteOrder(*message);
                            const uint64_t time = message->log_time;
                            if (!times_) times_ = {time, time};
                            times_->first = std::min(times_->first, time);
                            times_->second = std::max(times_->second, time);
                            return {};
                          }));
  return decoded;
}

Status Walker::AddChunk(const Record& record, const ReadContext& context) {
  const ChunkRecord fields =
      CTXFS_TRY(ReadChunkRecord(source_, record, context));
  const Chunk chunk{.at = record.at,
                    .length = record.length,
                    .size = fields.size,
                    .counts = 0,
                    .compression = CompressionOf(fields.compression)};
  const Result<BlockCache::Pinned> decoded = Decode(chunk, context);
  if (!decoded && !decoded.error().Permanent()) return decoded.error();
  if (!decoded) {
    WarnOfChunk(chunk, decoded.error());
    return {};
  }
  CTXFS_TRY(ForEachRecord((*decoded)->span(), context,
                          [&](const Record& inner, Bytes content) -> Status {
                            return IsDefinition(inner)
                                       ? builder_.Add(inner, content)
                                       : Status();
                          }));
  if (times_) builder_.CountTimes(times_->first, times_->second);
  return builder_.AddChunk(chunk, Counts(counts_.begin(), counts_.end()));
}

Status Walker::AddAttachment(const Record& record, const Request& request) {
  Result<AttachmentRecord> fields =
      ReadAttachmentRecord(source_, record, request);
  if (!fields) return fields.error();
  return builder_.AddAttachment({record.at, record.length, *std::move(fields)});
}

Status Walker::AddMetadata(const Record& record, const Request& request) {
  const Bytes start =
      CTXFS_TRY(reader_.Start(record, kMaxHeaderBytes, request));
  ByteReader in(start);
  const std::string_view name = TakeText(in);
  if (!in.ok()) return BadRecord(record, kFieldPastEnd);
  return builder_.AddMetadata({record.at, record.length, std::string(name)});
}

Result<bool> Walker::Add(const Record& record, const ReadContext& context) {
  if (IsDefinition(record)) {
    const Bytes content =
        CTXFS_TRY(reader_.Start(record, kMaxSchemaBytes, context));
    CTXFS_TRY(builder_.Add(record, content));
    return true;
  }
  if (!in_data_) return record.op != Op::kFooter;
  switch (record.op) {
    case Op::kMessage:
      CTXFS_TRY(AddMessage(record, context));
      return true;
    case Op::kChunk:
      CTXFS_TRY(AddChunk(record, context));
      return true;
    case Op::kAttachment:
      CTXFS_TRY(AddAttachment(record, context));
      return true;
    case Op::kMetadata:
      CTXFS_TRY(AddMetadata(record, context));
      return true;
    case Op::kDataEnd:
      builder_.index().data_end = record;
      if (range_.salvage) builder_.TakeNewDefinitionsAlone();
      in_data_ = false;
      return range_.salvage;
    case Op::kFooter:
      return false;
    default:
      return true;
  }
}

Result<Walked> Walker::Run(const ReadContext& context) {
  while (true) {
    const auto walk = [&]() -> Result<bool> {
      const std::optional<Record> record = CTXFS_TRY(reader_.Next(context));
      if (!record) return false;
      return Add(*record, context);
    };
    Result<bool> goes_on = walk();
    if (!goes_on) {
      Error error = std::move(goes_on).error();
      if (!range_.salvage || error.code != Code::kCorrupt) return error;
      walked_.stopped = std::move(error);
    }
    if (!goes_on || !*goes_on) break;
  }
  if (bad_chunks_ > kChunksNamed) {
    builder_.index().warnings.push_back(
        {fmt::format("{} more chunks cannot be decoded",
                     bad_chunks_ - kChunksNamed),
         kNoOffset, Severity::kDamage});
  }
  return walked_;
}

}  // namespace

Result<Walked> Walk(const Chunks& chunks, const WalkRange& range,
                    IndexBuilder& builder, const ReadContext& context) {
  return Walker(chunks, range, builder).Run(context);
}

}  // namespace ctxfs::mcap
