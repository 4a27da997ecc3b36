// SPDX-License-Identifier: Apache-2.0
//
// Opens a ColumnShard's columns over all row groups
// (docs/formats/columnshard.md, section 5).
#include <fmt/core.h>

#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/formats/column_shard/column_shard.h"
#include "core/formats/column_shard/repeated.h"

namespace ctxfs::column_shard {
namespace {

/// The values of a chunk stored as byte planes.
class SplitValues final : public Transform {
 public:
  SplitValues(Range planes, uint64_t values, uint64_t width)
      : planes_(std::move(planes)), values_(values), width_(width) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    if (out.empty()) return {};
    const uint64_t first = offset / width_;
    const uint64_t last = (offset + out.size() - 1) / width_;
    Buffer plane(static_cast<size_t>(last - first + 1));
    for (uint64_t j = 0; j < width_; ++j) {
      const uint64_t at = planes_.offset + j * values_ + first;
      CTXFS_TRY(planes_.guard != nullptr
                    ? planes_.guard->Read(at, plane.span(), context)
                    : planes_.source->ReadAt(at, plane.span(), context));
      for (uint64_t i = first; i <= last; ++i) {
        const uint64_t byte = i * width_ + j;
        if (byte < offset || byte - offset >= out.size()) continue;
        out[static_cast<size_t>(byte - offset)] =
            plane.data()[static_cast<size_t>(i - first)];
      }
    }
    return {};
  }

  Status Verify(const ReadContext& context) const override {
    return planes_.guard != nullptr ? planes_.guard->Verify(context) : Status();
  }

 private:
  Range planes_;
  uint64_t values_;
  uint64_t width_;
};

}  // namespace

/// A decoded chunk: its values, its rows as text, or its validity.
class ColumnBlock final : public Block {
 public:
  ColumnBlock(std::shared_ptr<const ColumnShard> shard, size_t column,
              size_t part, ColumnFile file)
      : Block({shard->owners_[static_cast<size_t>(file)],
               uint64_t{column} << 32 | part}),
        shard_(std::move(shard)),
        column_(shard_->columns()[column]),
        part_(column_.parts[part]),
        file_(file) {}

  uint64_t cost() const override {
    return shard_->Record(part_.entry).disk_size +
           shard_->EntrySize(part_.entry) + size();
  }

  bool verifies() const override {
    return static_cast<bool>(
        shard_->ExpectedChecksum(shard_->Record(part_.entry)));
  }

  const Source* made_from() const override { return shard_->source().get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    const Buffer payload = CTXFS_TRY(shard_->ReadEntry(part_.entry, context));
    Result<Buffer> made = Make(payload.span(), context);
    if (made) return made;
    Error error = Within("column " + Quote(column_.name), made.error());
    error.offset = shard_->Record(part_.entry).data_offset;
    return error;
  }

 private:
  bool is_text() const {
    return file_ == ColumnFile::kValues && column_.text();
  }

  /// Returns the size of the block; 0 for text, whose size is not yet known.
  uint64_t size() const {
    if (file_ == ColumnFile::kValidity) return part_.rows;
    return part_.rows * column_.row_size();
  }

  Result<Buffer> Make(Bytes payload, const ReadContext& context) const {
    const Chunk chunk =
        CTXFS_TRY(ParseChunk(payload, column_.type, column_.nullable));
    // Text may have fewer rows than declared, because AppendText decodes it to
    // find its size.
    if (is_text() ? chunk.count > part_.rows : chunk.count != part_.rows) {
      return Corrupt(fmt::format("a chunk of {} rows, but the schema says {}",
                                 chunk.count, part_.rows));
    }
    if (is_text()) return DecodeLines(chunk, context);
    Buffer made(static_cast<size_t>(size()));
    if (file_ == ColumnFile::kValidity) {
      DecodeValidity(chunk, made.span());
      return made;
    }
    CTXFS_TRY(
        DecodeFixed(chunk, column_.per_row, made.span(), context.interrupt()));
    return made;
  }

  std::shared_ptr<const ColumnShard> shard_;
  const Column& column_;
  ColumnPart part_;
  ColumnFile file_;
};

Result<bool> ColumnShard::AppendStored(const Column& column,
                                       const ColumnPart& part, Content& content,
                                       const Request& request) const {
  const shard::ShardRecord record = Record(part.entry);
  const bool ragged = column.per_row != 1 && column.nullable;
  if (Encoded(record) || column.text() || ragged) return false;
  // Reads the coding from the unverified header. If the header is damaged, the
  // guard fails when the values are read.
  std::byte head[kChunkHeaderSize];
  CTXFS_TRY(source()->ReadAt(record.data_offset, head, request));
  const auto coding = CodingOf(column.type, std::to_integer<uint8_t>(head[0]));
  const uint64_t values = part.rows * column.per_row;
  const uint64_t at = record.data_offset + kChunkHeaderSize +
                      (column.nullable ? ValidityBytes(part.rows) : 0);
  const uint64_t end = record.data_offset + record.disk_size;
  const uint64_t width = ColumnTypeWidth(column.type);
  const bool sound = LoadLe<uint32_t>(head + 1) == part.rows &&
                     InBounds(at, values * width, end);
  if (!sound) return false;  // decoding will report the fault
  Range stored{source(), at, OpenGuard(part.entry)};
  if (coding == ChunkCoding::kPlain) {
    content.Append(std::move(stored), values * width);
    return true;
  }
  const uint64_t planes = (end - at) / width;
  if (coding != ChunkCoding::kByteStreamSplit || (end - at) % width != 0) {
    return false;
  }
  content.Append(
      Computed{std::make_shared<SplitValues>(std::move(stored), planes, width),
               0},
      values * width);
  return true;
}

Result<bool> ColumnShard::AppendRepeated(const Column& column,
                                         const ColumnPart& part,
                                         const ReadContext& context,
                                         Content& content) const {
  // Other codings expand at most 64 times: 8-byte values as 1-bit deltas.
  constexpr uint64_t kMaxOfOthers = 64;
  constexpr uint64_t kMaxPayload = 64 * limits::kKiB;
  const uint64_t size = EntrySize(part.entry);
  const uint64_t values = part.rows * column.row_size();
  if (size > kMaxPayload || values / kMaxOfOthers <= size) return false;
  // A fault is no error here, because it recurs, and is reported, when the
  // column is read.
  Result<std::shared_ptr<const Block>> block = OpenBlock(part.entry);
  if (!block) return false;
  const Result<BlockCache::Pinned> payload = context.Get(**block);
  if (!payload && !payload.error().Permanent()) return payload.error();
  if (!payload) return false;
  const Result<Chunk> chunk =
      ParseChunk((*payload)->span(), column.type, column.nullable);
  if (!chunk || chunk->count != part.rows || column.per_row != 1) return false;
  auto repeated = RepeatedValues(*chunk, (*payload)->span(), std::move(*block));
  if (repeated == nullptr) return false;
  content.Append(Computed{std::move(repeated), 0}, values);
  return true;
}

Status ColumnShard::AppendText(size_t column, size_t part,
                               const ReadContext& context,
                               Content& content) const {
  auto block = std::make_shared<const ColumnBlock>(Share(*this), column, part,
                                                   ColumnFile::kValues);
  std::atomic<uint64_t>& known = text_sizes_[column][part];
  uint64_t size = known.load(std::memory_order_relaxed);
  if (size == 0) {
    const BlockCache::Pinned text = CTXFS_TRY(context.Get(*block));
    size = text->size() + 1;
    known.store(size, std::memory_order_relaxed);
  }
  content.Append(Decoded{std::move(block), 0}, size - 1);
  return {};
}

Result<Content> ColumnShard::OpenColumn(size_t index, ColumnFile file,
                                        const ReadContext& context) const {
  const Column& column = columns()[index];
  const bool values = file == ColumnFile::kValues;
  Content content;
  for (size_t i = 0; i < column.parts.size(); ++i) {
    CTXFS_TRY(context.Check());
    const ColumnPart& part = column.parts[i];
    if (values && column.text()) {
      CTXFS_TRY(AppendText(index, i, context, content));
      continue;
    }
    if (values) {
      Result<bool> appended = AppendStored(column, part, content, context);
      if (appended && !*appended) {
        appended = AppendRepeated(column, part, context, content);
      }
      if (!appended) return appended.error();
      if (*appended) continue;
    }
    content.Append(Decoded{std::make_shared<const ColumnBlock>(Share(*this),
                                                               index, i, file),
                           0},
                   values ? part.rows * column.row_size() : part.rows);
  }
  return content;
}

}  // namespace ctxfs::column_shard
