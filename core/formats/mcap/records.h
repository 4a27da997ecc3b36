// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs::mcap {

/// Opcodes of records (docs/formats/mcap.md, section 1).
enum class Op : uint8_t {
  kInvalid = 0x00,
  kHeader = 0x01,
  kFooter = 0x02,
  kSchema = 0x03,
  kChannel = 0x04,
  kMessage = 0x05,
  kChunk = 0x06,
  kMessageIndex = 0x07,
  kChunkIndex = 0x08,
  kAttachment = 0x09,
  kAttachmentIndex = 0x0a,
  kStatistics = 0x0b,
  kMetadata = 0x0c,
  kMetadataIndex = 0x0d,
  kDataEnd = 0x0f,
};

constexpr std::string_view kMagic{"\x89MCAP0\r\n", 8};
/// Bytes of the opcode and the length of a record.
constexpr uint64_t kHeadSize = 9;
constexpr uint64_t kFooterSize = 20;
/// Bytes of a message record before its data.
constexpr uint64_t kMessageFields = 22;

/// The opcode and place of a record.
struct Record {
  Op op = Op::kInvalid;
  uint64_t at = 0;      // of the opcode
  uint64_t length = 0;  // of the content

  uint64_t content() const { return at + kHeadSize; }
  uint64_t end() const { return content() + length; }
};

/// Parses the 9 bytes at the start of `bytes`, which stand at `at`. Fails with
/// kCorrupt if the record is invalid or does not end by `end`.
Result<Record> ParseRecord(Bytes bytes, uint64_t at, uint64_t end);

/// Reads the records in a part of a file one by one, through a window.
class RecordReader {
 public:
  RecordReader(const Source& source, uint64_t begin, uint64_t end)
      : source_(source), at_(begin), end_(end) {}

  /// Returns the next record; nullopt at the end. Fails like ParseRecord.
  Maybe<Record> Next(const Request& request);
  /// The first `most` bytes of the content of `record`, or all of a shorter
  /// one. Valid until the next call.
  Result<Bytes> Start(const Record& record, uint64_t most,
                      const Request& request);

  /// The end of the last record that Next returned.
  uint64_t at() const { return at_; }

 private:
  /// The bytes [at, at + length), which must lie before the end.
  Result<Bytes> Take(uint64_t at, uint64_t length, const Request& request);

  const Source& source_;
  uint64_t at_;
  const uint64_t end_;
  Buffer window_;
  uint64_t window_at_ = 0;
};

/// The next string of `in`: u32 length, bytes.
inline std::string_view TakeText(ByteReader& in) {
  const uint32_t length = in.U32();
  return AsText(in.Take(length));
}

/// The fault `what` of a record.
Error BadRecord(const Record& record, std::string_view what);

constexpr std::string_view kFieldPastEnd = "a field leads past its end";

struct SchemaRecord {
  uint16_t id;
  std::string_view name;
  std::string_view encoding;
  std::string_view data;
};

struct ChannelRecord {
  uint16_t id;
  uint16_t schema;
  std::string_view topic;
  std::string_view encoding;
  std::string_view metadata;  // pairs of strings, checked
};

struct MessageRecord {
  uint16_t channel;
  uint32_t sequence;
  uint64_t log_time;
  uint64_t publish_time;
};

/// A chunk before its records.
struct ChunkRecord {
  uint64_t size;  // decoded
  uint32_t crc;   // of the decoded records; 0: none
  std::string compression;
  uint64_t data;    // byte of the file
  uint64_t stored;  // bytes
};

/// An attachment without its data, or an index of one.
struct AttachmentRecord {
  uint64_t log_time = 0;
  uint64_t create_time = 0;
  std::string name;
  std::string media_type;
  uint64_t data = 0;  // byte of the file
  uint64_t size = 0;  // bytes of the data
};

// Parsers of the contents of records. Bytes behind the last field are ignored.
// They return nullopt if a field runs past the end of the content.

std::optional<SchemaRecord> ParseSchema(Bytes content);
std::optional<ChannelRecord> ParseChannel(Bytes content);
/// `content` may be cut after the fields.
std::optional<MessageRecord> ParseMessage(Bytes content);

/// Whether `map` is pairs of strings, each with its length.
bool IsTextMap(Bytes map);

/// Reads the fields of the chunk or attachment `record`. Fails with kCorrupt if
/// its data does not end within the record.
Result<ChunkRecord> ReadChunkRecord(const Source& source, const Record& record,
                                    const Request& request);
Result<AttachmentRecord> ReadAttachmentRecord(const Source& source,
                                              const Record& record,
                                              const Request& request);

/// Reads the opcode and length at `at`. Fails like ParseRecord, and with
/// kCorrupt unless the record is an `op` that takes `length` bytes.
Result<Record> ReadIndexed(const Source& source, Op op, uint64_t at,
                           uint64_t length, const Request& request);

}  // namespace ctxfs::mcap
