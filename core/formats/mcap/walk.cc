// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/walk.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/errors.h"
#include "core/base/work.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

using Take = WalkRange::Take;

/// Maximum of warnings of chunks.
constexpr uint64_t kChunksNamed = 100;

class Walker {
 public:
  Walker(const Chunks& chunks, const WalkRange& range, IndexBuilder& builder,
         const ReadContext& context)
      : chunks_(chunks),
        builder_(builder),
        context_(context),
        salvages_(range.take == Take::kSalvaged),
        in_data_(range.take != Take::kDefinitions),
        reader_(chunks.source(), range.begin, range.end, context),
        work_(WorkLimit().On(chunks.source().size())) {}

  Result<Walked> Run();

 private:
  /// Reads and adds the next record; returns whether the walk goes on.
  Result<bool> Step();
  Status AddData(const Record& record);
  Status AddMetadata(const Record& record);
  Status AddChunk(const Record& record);
  struct Examined {
    BlockCache::Pinned decoded;
    std::vector<Record> definitions;
  };
  /// Compares all records of a chunk with it, before any of them counts.
  Result<Layout> Examine(const Chunk& chunk, Examined& found);
  void WarnOfChunk(const Chunk& chunk, Error error);

  const Chunks& chunks_;
  IndexBuilder& builder_;
  const ReadContext& context_;
  const bool salvages_;
  bool in_data_;
  RecordReader reader_;
  Work work_;  // bounds what all chunks decode to
  Walked walked_;
  uint64_t bad_chunks_ = 0;
};

void Walker::WarnOfChunk(const Chunk& chunk, Error error) {
  walked_.lacks_chunks = true;
  if (++bad_chunks_ > kChunksNamed) return;
  if (error.offset != chunk.record.at)
    error = Within("chunk", std::move(error));
  const bool other = chunk.compression == Compression::kOther;
  builder_.index.warnings.push_back(
      {error.what + "; its messages are not shown", chunk.record.at,
       other ? Severity::kPartial : Severity::kDamage});
}

Result<Layout> Walker::Examine(const Chunk& chunk, Examined& found) {
  CTXFS_TRY(CheckChunk(chunk));
  CTXFS_TRY(work_.Charge(chunk.size + chunk.record.length));
  const auto verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  found.decoded = CTXFS_TRY(context_.Get(*chunks_.BlockOf(chunk, verdict)));
  return LayoutOf(found.decoded->span(), &found.definitions, context_);
}

Status Walker::AddChunk(const Record& record) {
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

Status Walker::AddMetadata(const Record& record) {
  ByteReader in(CTXFS_TRY(reader_.Start(record, kMaxHeaderBytes)));
  FileRecord file{.record = record, .name = std::string(TakeText(in))};
  return in.ok() ? builder_.AddFile(std::move(file)) : BadRecord(record);
}

Status Walker::AddData(const Record& record) {
  switch (record.op) {
    case Op::kChunk:
      return AddChunk(record);
    case Op::kMessage: {
      const auto message =
          ParseMessage(CTXFS_TRY(reader_.Start(record, kMessageFields)));
      return message ? builder_.AddMessage(record, *message)
                     : BadRecord(record);
    }
    case Op::kAttachment:
      return builder_.AddFile(
          CTXFS_TRY(ReadAttachment(chunks_.source(), record, context_)));
    case Op::kMetadata:
      return AddMetadata(record);
    default:
      return {};
  }
}

Result<bool> Walker::Step() {
  const std::optional<Record> record = CTXFS_TRY(reader_.Next());
  if (!record || record->op == Op::kFooter) return false;
  if (record->defines()) {
    CTXFS_TRY(builder_.Define(
        *record, CTXFS_TRY(reader_.Start(*record, kMaxSchemaBytes))));
  } else if (in_data_ && record->op == Op::kDataEnd) {
    builder_.index.data_end = *record;
    if (!salvages_) return false;
    builder_.TakeNewDefinitionsAlone();
    in_data_ = false;
  } else if (in_data_) {
    CTXFS_TRY(AddData(*record));
  }
  return true;
}

Result<Walked> Walker::Run() {
  Result<bool> goes_on = true;
  while (goes_on && *goes_on) goes_on = Step();
  if (!goes_on) {
    Error error = std::move(goes_on).error();
    if (!salvages_ || error.code != Code::kCorrupt) return error;
    walked_.stopped = std::move(error);
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
  return Walker(chunks, range, builder, context).Run();
}

}  // namespace ctxfs::mcap
