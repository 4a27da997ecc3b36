// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/records.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {

Error BadRecord(const Record& record, std::string_view what) {
  return {Code::kCorrupt,
          fmt::format("record: opcode {:#04x}: {}",
                      static_cast<unsigned>(record.op), what),
          record.at};
}

Result<Record> ParseRecord(Bytes bytes, uint64_t at, uint64_t end) {
  ByteReader in(bytes);
  const Record record{
      .op = static_cast<Op>(in.U8()), .at = at, .length = in.U64()};
  if (!in.ok() || !InBounds(at, kHeadSize, end)) {
    return Error{Code::kCorrupt, "record: it is cut", at};
  }
  if (record.length > end - at - kHeadSize) {
    return BadRecord(record, "its length leads past the end");
  }
  if (record.op == Op::kInvalid) return BadRecord(record, "it is invalid");
  return record;
}

Result<Buffer> ReadRecord(const Source& source, const Record& record,
                          uint64_t most, const Request& request) {
  const uint64_t bytes = kHeadSize + std::min(record.length, most);
  CTXFS_TRY(HeapAllowance::Admit(bytes));
  Buffer start =
      CTXFS_TRY(ReadBuffer(source, record.at, bytes, "record", request));
  const Record there =
      CTXFS_TRY(ParseRecord(start.span(), record.at, source.size()));
  if (there == record) return start;
  return BadRecord(there, "the index has another record here");
}

Status CompareCrc(const Source& source, uint64_t begin, uint64_t end,
                  uint32_t crc, const Error& fault, const Request& request) {
  constexpr uint64_t kPiece = 256 * limits::kKiB;
  if (crc == 0) return {};
  uint32_t found = 0;
  for (uint64_t at = begin; at < end; at += kPiece) {
    CTXFS_TRY(request.Check());
    const Buffer piece = CTXFS_TRY(
        ReadBuffer(source, at, std::min(kPiece, end - at), "data", request));
    found = Crc32(piece.span(), found);
  }
  if (found == crc) return {};
  return Error{Code::kChecksum,
               fmt::format("{} has the checksum {:08x}, not {:08x}", fault.what,
                           found, crc),
               fault.offset};
}

Maybe<Record> RecordReader::Next() {
  if (at_ == end_) return std::optional<Record>();
  CTXFS_TRY(request_.Check());
  const Bytes head =
      CTXFS_TRY(window_.At(at_, WindowReader::Room(at_, end_, kHeadSize)));
  const Record record = CTXFS_TRY(ParseRecord(head, at_, end_));
  at_ = record.end();
  return std::optional<Record>(record);
}

Result<Bytes> RecordReader::Start(const Record& record, uint64_t most) {
  const uint64_t length = std::min(record.length, most);
  if (length <= WindowReader::kMax) {
    return window_.At(record.content(), static_cast<size_t>(length));
  }
  CTXFS_TRY(HeapAllowance::Admit(length));
  long_ = CTXFS_TRY(
      ReadBuffer(source_, record.content(), length, "record", request_));
  return Bytes(long_.span());
}

bool IsTextMap(std::string_view map) {
  ByteReader in(AsBytes(map));
  while (in.ok() && in.remaining() > 0) {
    (void)TakeText(in);
    (void)TakeText(in);
  }
  return in.ok();
}

std::optional<Message> ParseMessage(Bytes content) {
  ByteReader in(content);
  const Message message{.channel = in.U16(),
                        .sequence = in.U32(),
                        .log_time = in.U64(),
                        .publish_time = in.U64()};
  return in.ok() ? std::optional(message) : std::nullopt;
}

Compression CompressionOf(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "zstd") return Compression::kZstd;
  return name == "lz4" ? Compression::kLz4 : Compression::kOther;
}

Result<ChunkFields> ReadChunk(const Source& source, const Record& record,
                              const Request& request) {
  // Bytes that suffice for the fields, with the name of any known compression.
  constexpr uint64_t kFields = 128;
  const Buffer start = CTXFS_TRY(ReadRecord(source, record, kFields, request));
  ByteReader in(start.span(), record.at);
  ChunkFields chunk{};
  chunk.record = record;
  in.Skip(kHeadSize + 2 * sizeof(uint64_t));  // start and end
  chunk.size = in.U64();
  chunk.crc = in.U32();
  chunk.compression = CompressionOf(TakeText(in));
  chunk.stored = in.U64();
  chunk.data = in.offset();
  if (!in.ok() || !InBounds(chunk.data, chunk.stored, record.end())) {
    return BadRecord(record);
  }
  return chunk;
}

Result<FileRecord> ReadAttachment(const Source& source, const Record& record,
                                  const Request& request) {
  constexpr uint64_t kCrc = sizeof(uint32_t);
  const Buffer start =
      CTXFS_TRY(ReadRecord(source, record, kMaxHeaderBytes, request));
  ByteReader in(start.span(), record.at);
  in.Skip(kHeadSize);
  FileRecord file{.record = record};
  const uint64_t log_time = in.U64();
  const uint64_t create_time = in.U64();
  file.time = create_time != 0 ? create_time : log_time;
  file.name = TakeText(in);
  file.media_type = TakeText(in);
  file.size = in.U64();
  file.data = in.offset();
  const uint64_t left = record.end() - file.data;
  if (!in.ok() || left < kCrc || file.size > left - kCrc) {
    return BadRecord(record);
  }
  return file;
}

}  // namespace ctxfs::mcap
