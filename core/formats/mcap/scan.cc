// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/work.h"
#include "core/formats/mcap/chunks.h"
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
  /// Reads and adds the next record; returns whether the walk goes on.
  Result<bool> Step(const ReadContext& context);
  Status Add(const Record& record, const ReadContext& context);
  Status AddChunk(const Record& record, const ReadContext& context);
  void WarnOfChunk(const Chunk& chunk, Error error);

  const Chunks& chunks_;
  const Source& source_;
  const WalkRange range_;
  IndexBuilder& builder_;
  RecordReader reader_;
  Work work_;  // bounds what all chunks decode to
  Walked walked_;
  bool in_data_ = true;
  uint64_t bad_chunks_ = 0;
};

void Walker::WarnOfChunk(const Chunk& chunk, Error error) {
  walked_.lacks_chunks = true;
  if (++bad_chunks_ > kChunksNamed) return;
  if (error.offset != chunk.at) error = Within("chunk", std::move(error));
  const bool other = chunk.compression == Compression::kOther;
  builder_.index.warnings.push_back(
      {error.what + "; its messages are not shown", chunk.at,
       other ? Severity::kPartial : Severity::kDamage});
}

Status Walker::AddChunk(const Record& record, const ReadContext& context) {
  const ChunkRecord fields =
      CTXFS_TRY(ReadChunkRecord(source_, record, context));
  const Chunk chunk{.at = record.at,
                    .length = record.length,
                    .size = fields.size,
                    .counts = 0,
                    .compression = fields.compression};
  // All records are compared with the chunk before any of them counts.
  BlockCache::Pinned decoded;
  const auto decode = [&]() -> Result<Layout> {
    if (std::optional<Error> fault = ChunkFault(chunk)) return *fault;
    CTXFS_TRY(work_.Charge(chunk.size + chunk.length));
    decoded = CTXFS_TRY(chunks_.Decode(chunk, context));
    return Layout::Of(decoded->span(), context);
  };
  const Result<Layout> layout = decode();
  if (!layout && !layout.error().Permanent()) return layout.error();
  if (!layout) {
    WarnOfChunk(chunk, layout.error());
    return {};
  }
  CTXFS_TRY(ForEachRecord(decoded->span(), context,
                          [&](const Record& inner, Bytes content) -> Status {
                            return inner.defines()
                                       ? builder_.Define(inner, content)
                                       : Status();
                          }));
  for (const Place& one : layout->all()) {
    builder_.CountTimes(one.fields.log_time, one.fields.log_time);
  }
  builder_.index.unordered.insert(layout->unordered().begin(),
                                  layout->unordered().end());
  return builder_.AddChunk(chunk, layout->counts());
}

Status Walker::Add(const Record& record, const ReadContext& context) {
  if (record.op == Op::kChunk) return AddChunk(record, context);
  if (record.op == Op::kAttachment) {
    FileRecord file = CTXFS_TRY(ReadAttachmentRecord(source_, record, context));
    return builder_.AddFile(builder_.index.attachments, std::move(file));
  }
  const Bytes start =
      CTXFS_TRY(reader_.Start(record, kMaxHeaderBytes, context));
  if (record.op == Op::kMessage) {
    const auto message = ParseMessage(start);
    return message ? builder_.AddMessage(*message, record)
                   : Status(BadRecord(record, kFieldPastEnd));
  }
  ByteReader in(start);
  FileRecord file{.record = record, .name = std::string(TakeText(in))};
  if (!in.ok()) return BadRecord(record, kFieldPastEnd);
  return builder_.AddFile(builder_.index.metadata, std::move(file));
}

Result<bool> Walker::Step(const ReadContext& context) {
  const std::optional<Record> record = CTXFS_TRY(reader_.Next(context));
  if (!record || record->op == Op::kFooter) return false;
  if (record->defines()) {
    const Bytes content =
        CTXFS_TRY(reader_.Start(*record, kMaxSchemaBytes, context));
    CTXFS_TRY(builder_.Define(*record, content));
  } else if (in_data_ && record->op == Op::kDataEnd) {
    builder_.index.data_end = *record;
    if (!range_.salvage) return false;
    builder_.TakeNewDefinitionsAlone();
    in_data_ = false;
  } else if (in_data_ &&
             (record->op == Op::kMessage || record->op == Op::kChunk ||
              record->op == Op::kAttachment || record->op == Op::kMetadata)) {
    CTXFS_TRY(Add(*record, context));
  }
  return true;
}

Result<Walked> Walker::Run(const ReadContext& context) {
  while (true) {
    Result<bool> goes_on = Step(context);
    if (!goes_on) {
      Error error = std::move(goes_on).error();
      if (!range_.salvage || error.code != Code::kCorrupt) return error;
      walked_.stopped = std::move(error);
    }
    if (!goes_on || !*goes_on) break;
  }
  if (bad_chunks_ > kChunksNamed) {
    builder_.index.warnings.push_back(
        {fmt::format("{} more chunks cannot be decoded",
                     bad_chunks_ - kChunksNamed),
         kNoOffset, Severity::kDamage});
  }
  return std::move(walked_);
}

}  // namespace

Result<Walked> Walk(const Chunks& chunks, const WalkRange& range,
                    IndexBuilder& builder, const ReadContext& context) {
  return Walker(chunks, range, builder).Run(context);
}

}  // namespace ctxfs::mcap
