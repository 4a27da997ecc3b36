// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/records.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

constexpr uint64_t kWindow = 64 * limits::kKiB;
/// Bytes of the fields of a chunk with any known compression.
constexpr uint64_t kChunkFields = 128;

}  // namespace

Error BadRecord(const Record& record, std::string_view what) {
  return {Code::kCorrupt,
          fmt::format("record: opcode {:#04x}: {}",
                      static_cast<unsigned>(record.op), what),
          record.at};
}

Result<Record> ParseRecord(Bytes bytes, uint64_t at, uint64_t end) {
  ByteReader in(bytes);
  Record record;
  record.op = static_cast<Op>(in.U8());
  record.at = at;
  record.length = in.U64();
  if (!in.ok() || !InBounds(at, kHeadSize, end)) {
    return Error{Code::kCorrupt, "record: it is cut", at};
  }
  if (record.length > end - at - kHeadSize) {
    return BadRecord(record, "its length leads past the end");
  }
  if (record.op == Op::kInvalid) return BadRecord(record, "it is invalid");
  return record;
}

Result<Bytes> RecordReader::Take(uint64_t at, uint64_t length,
                                 const Request& request) {
  if (!InBounds(at, length, end_)) {
    return Error{Code::kCorrupt, "record: it is cut", at};
  }
  if (at < window_at_ || !InBounds(at - window_at_, length, window_.size())) {
    const uint64_t bytes = std::min(end_ - at, std::max(length, kWindow));
    CTXFS_TRY(HeapAllowance::Admit(bytes));
    window_ = CTXFS_TRY(ReadBuffer(source_, at, bytes, "records", request));
    window_at_ = at;
  }
  return Bytes(window_.span())
      .subspan(static_cast<size_t>(at - window_at_),
               static_cast<size_t>(length));
}

Maybe<Record> RecordReader::Next(const Request& request) {
  if (at_ == end_) return std::optional<Record>();
  CTXFS_TRY(request.Check());
  const uint64_t head = std::min(kHeadSize, end_ - at_);
  const Bytes bytes = CTXFS_TRY(Take(at_, head, request));
  const Record record = CTXFS_TRY(ParseRecord(bytes, at_, end_));
  at_ = record.end();
  return std::optional<Record>(record);
}

Result<uint32_t> Crc32Of(const Source& source, uint64_t begin, uint64_t end,
                         const Request& request) {
  constexpr uint64_t kPiece = 256 * limits::kKiB;
  uint32_t crc = 0;
  for (uint64_t at = begin; at < end; at += kPiece) {
    CTXFS_TRY(request.Check());
    const Buffer piece = CTXFS_TRY(
        ReadBuffer(source, at, std::min(kPiece, end - at), "data", request));
    crc = Crc32(piece.span(), crc);
  }
  return crc;
}

bool IsTextMap(Bytes map) {
  ByteReader in(map);
  while (in.ok() && in.remaining() > 0) {
    (void)TakeText(in);
    (void)TakeText(in);
  }
  return in.ok();
}

std::optional<MessageRecord> ParseMessage(Bytes content) {
  ByteReader in(content);
  MessageRecord message{};
  message.channel = in.U16();
  message.sequence = in.U32();
  message.log_time = in.U64();
  message.publish_time = in.U64();
  return in.ok() ? std::optional(message) : std::nullopt;
}

Compression CompressionOf(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "zstd") return Compression::kZstd;
  return name == "lz4" ? Compression::kLz4 : Compression::kOther;
}

const char* CompressionName(Compression compression) {
  constexpr const char* kNames[] = {"none", "zstd", "lz4", "other"};
  return kNames[static_cast<size_t>(compression)];
}

Result<ChunkRecord> ReadChunkRecord(const Source& source, const Record& record,
                                    const Request& request) {
  const Buffer start = CTXFS_TRY(
      ReadBuffer(source, record.content(),
                 std::min(record.length, kChunkFields), "chunk", request));
  ByteReader in(start.span(), record.content());
  ChunkRecord chunk{};
  in.Skip(2 * sizeof(uint64_t));  // start and end
  chunk.size = in.U64();
  chunk.crc = in.U32();
  chunk.compression = CompressionOf(TakeText(in));
  chunk.stored = in.U64();
  chunk.data = in.offset();
  if (!in.ok() || !InBounds(chunk.data, chunk.stored, record.end())) {
    return BadRecord(record, kFieldPastEnd);
  }
  return chunk;
}

Result<FileRecord> ReadAttachmentRecord(const Source& source,
                                        const Record& record,
                                        const Request& request) {
  constexpr uint64_t kCrc = sizeof(uint32_t);
  const Buffer start = CTXFS_TRY(ReadBuffer(
      source, record.content(), std::min(record.length, kMaxHeaderBytes),
      "attachment", request));
  ByteReader in(start.span(), record.content());
  FileRecord file{.record = record, .name = {}};
  file.log_time = in.U64();
  file.create_time = in.U64();
  file.name = TakeText(in);
  file.media_type = TakeText(in);
  file.size = in.U64();
  file.data = in.offset();
  const uint64_t left = record.end() - file.data;
  if (!in.ok() || left < kCrc || file.size > left - kCrc) {
    return BadRecord(record, kFieldPastEnd);
  }
  return file;
}

Result<Record> ReadIndexed(const Source& source, Op op, uint64_t at,
                           uint64_t length, const Request& request) {
  const Buffer head =
      CTXFS_TRY(ReadBuffer(source, at, kHeadSize, "record", request));
  const Record record = CTXFS_TRY(ParseRecord(head.span(), at, source.size()));
  if (record.op != op || record.length != length) {
    return BadRecord(record, "the index has another record here");
  }
  return record;
}

}  // namespace ctxfs::mcap
