// SPDX-License-Identifier: Apache-2.0
//
// Streams of cowrie values (docs/formats/cowrie.md, section 7).
//
//   0   "SJST", u8 version 2, u8 flags, u16 header length (24)
//   8   u32 type, u32 payload length, u32 raw length, u32 metadata length
//   ..  metadata, payload, u32 CRC-32 if flag 2 is set; the next frame
//
// or: u32 length, as many bytes of a value; ...; length 0 ends the stream.
#include "core/formats/cowrie/frames.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/heap/heap_allowance.h"
#include "core/codec/checksum.h"
#include "core/content/check_at.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::cowrie {
namespace {

constexpr uint32_t kFrameHeader = 24;
constexpr uint64_t kLength = 4;
constexpr uint64_t kChecksumBytes = 4;
constexpr std::string_view kFrameMagic = "SJST";

/// Reads small pieces of a source in order. Several short records share a read.
class Window {
 public:
  Window(const Source& source, const Request& request)
      : source_(source), request_(request) {}

  /// [at, at + count) must be in the source; `count` must be at most 4096. The
  /// result is valid until the next call.
  Result<Bytes> At(uint64_t at, uint64_t count) {
    if (at < at_ || at + count > at_ + bytes_.size()) {
      constexpr uint64_t kBytes = 4096;
      bytes_ = CTXFS_TRY(ReadBuffer(source_, at,
                                    std::min(kBytes, source_.size() - at),
                                    "record", request_));
      at_ = at;
    }
    return Bytes(bytes_.span())
        .subspan(static_cast<size_t>(at - at_), static_cast<size_t>(count));
  }

 private:
  const Source& source_;
  const Request& request_;
  uint64_t at_ = 0;
  Buffer bytes_;
};

Error NoFit(size_t record, uint64_t bytes, uint64_t at, uint64_t size) {
  return {Code::kCorrupt,
          fmt::format("record {} of {} bytes runs past the end of the file "
                      "({} bytes)",
                      record, bytes, size),
          at};
}

Status Append(std::vector<StreamRecord>& records, const StreamRecord& record) {
  if (records.size() == kMaxRecords) {
    return Error{Code::kLimit,
                 fmt::format("more than {} records in a stream", kMaxRecords),
                 record.offset};
  }
  CTXFS_TRY(AdmitGrowth(records));
  records.push_back(record);
  return {};
}

/// Parses the header of the frame at `at`.
Result<StreamRecord> FrameIn(Bytes head, size_t number, uint64_t at) {
  ByteReader in(head, at);
  if (AsText(in.Take(kFrameMagic.size())) != kFrameMagic) {
    return Error{Code::kCorrupt,
                 fmt::format("record {} does not start with 'SJST'", number),
                 at};
  }
  const uint8_t version = in.U8();
  if (in.ok() && version != 2) {
    return Error{Code::kVersion,
                 fmt::format("cowrie stream: version {} is not supported, only "
                             "2 is",
                             version),
                 at + kFrameMagic.size()};
  }
  StreamRecord record;
  record.offset = at;
  record.flags = in.U8();
  record.header = std::max<uint32_t>(in.U16(), kFrameHeader);
  record.type = in.U32();
  record.payload = in.U32();
  record.raw = in.U32();
  record.metadata = in.U32();
  if (!in.ok()) {
    return Error{
        Code::kCorrupt,
        fmt::format("the file ends within the header of record {}", number),
        at};
  }
  return record;
}

/// Returns the CRC-32 table of cowrie's C library, in which two entries are
/// wrong.
std::array<uint32_t, 256> TableOfC() {
  constexpr uint32_t kPolynomial = 0xEDB88320;
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t entry = i;
    for (int bit = 0; bit < 8; ++bit) {
      entry = entry >> 1 ^ ((entry & 1) != 0 ? kPolynomial : 0);
    }
    table[i] = entry;
  }
  table[111] = 0xDD0D7D43;
  table[245] = 0xCDD706B3;
  return table;
}

uint32_t Crc32OfC(Bytes bytes) {
  static const std::array<uint32_t, 256> table = TableOfC();
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc = crc >> 8 ^ table[(crc ^ std::to_integer<uint32_t>(byte)) & 0xFFU];
  }
  return ~crc;
}

}  // namespace

bool StartsLikeFrames(Bytes head) {
  using namespace std::string_view_literals;
  const std::string_view text = AsText(head);
  return text.starts_with(kFrameMagic) && !text.starts_with("SJST\x01\0"sv);
}

bool StartsLikeLengths(Bytes head) {
  constexpr size_t kSeen = 8;  // the length, and the header of the value
  constexpr uint32_t kShortest = 6;
  constexpr auto kUnusedFlags = std::byte{0xF0};
  if (head.size() < kSeen || AsText(head.subspan(kLength, 3)) != "SJ\x02") {
    return false;
  }
  const auto length = LoadLe<uint32_t>(head.data());
  return length >= kShortest && (head[7] & kUnusedFlags) == std::byte{0} &&
         (head.size() == limits::kProbeBytes ||
          length <= head.size() - kLength);
}

Result<std::vector<StreamRecord>> WalkFrames(const Source& source,
                                             const ReadContext& context) {
  const uint64_t size = source.size();
  Window window(source, context);
  std::vector<StreamRecord> records;
  for (uint64_t at = 0; at < size;) {
    CTXFS_TRY(CheckAt(context, static_cast<uint32_t>(records.size())));
    const uint64_t seen = std::min<uint64_t>(kFrameHeader, size - at);
    StreamRecord record =
        CTXFS_TRY(FrameIn(CTXFS_TRY(window.At(at, seen)), records.size(), at));
    uint64_t end = record.payload_end();
    if (record.has(StreamRecord::kChecksum)) end += kChecksumBytes;
    if (end > size) return NoFit(records.size(), end - at, at, size);
    if (record.has(StreamRecord::kChecksum)) {
      const Bytes checksum =
          CTXFS_TRY(window.At(record.payload_end(), kChecksumBytes));
      record.checksum = LoadLe<uint32_t>(checksum.data());
    }
    CTXFS_TRY(Append(records, record));
    at = end;
  }
  return records;
}

Result<std::vector<StreamRecord>> WalkLengths(const Source& source,
                                              uint64_t& end,
                                              const ReadContext& context) {
  const uint64_t size = source.size();
  Window window(source, context);
  std::vector<StreamRecord> records;
  end = 0;
  while (end < size) {
    CTXFS_TRY(CheckAt(context, static_cast<uint32_t>(records.size())));
    if (size - end < kLength) {
      return NoFit(records.size(), kLength, end, size);
    }
    StreamRecord record;
    record.offset = end;
    record.header = kLength;
    const Bytes length = CTXFS_TRY(window.At(end, kLength));
    record.payload = LoadLe<uint32_t>(length.data());
    if (record.payload == 0) {
      end += kLength;
      return records;
    }
    if (record.payload_end() > size) {
      // A single value that does not fit is not evidence of a stream.
      Error error =
          NoFit(records.size(), record.payload_end() - end, end, size);
      if (records.empty()) error.code = Code::kNotContainer;
      return error;
    }
    CTXFS_TRY(Append(records, record));
    end = record.payload_end();
  }
  return records;
}

bool MatchesFrameChecksum(Bytes bytes, uint32_t checksum) {
  return Crc32(bytes) == checksum || Crc32OfC(bytes) == checksum;
}

}  // namespace ctxfs::cowrie
