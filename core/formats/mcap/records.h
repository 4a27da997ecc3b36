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
#include "core/io/window_reader.h"

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
/// Bytes of a message record before its data.
constexpr uint64_t kMessageFields = 22;

/// The opcode and place of a record.
struct Record {
  Op op = Op::kInvalid;
  uint64_t at = 0;      // of the opcode
  uint64_t length = 0;  // of the content

  bool operator==(const Record&) const = default;
  uint64_t content() const { return at + kHeadSize; }
  uint64_t end() const { return content() + length; }
  bool defines() const { return op == Op::kSchema || op == Op::kChannel; }
};

/// Returns an error that says what is wrong with a record.
Error BadRecord(const Record& record,
                std::string_view what = "a field leads past its end");

/// Parses the opcode and length at the start of `bytes`. `at` and `end` are
/// offsets in the file or decoded chunk: of `bytes`, and of the end of all
/// records. Fails with kCorrupt if the record is invalid or goes past `end`.
Result<Record> ParseRecord(Bytes bytes, uint64_t at, uint64_t end);

/// Reads opcode, length and at most the first `most` bytes of the content of
/// `record`. Fails with kCorrupt if the file has another record there.
Result<Buffer> ReadRecord(const Source& source, const Record& record,
                          uint64_t most, const Request& request);

/// Fails with kChecksum, and the text and offset of `fault`, unless the bytes
/// [begin, end) have the CRC-32 `crc`. Does nothing if `crc` is 0: its writer
/// computed none.
Status CompareCrc(const Source& source, uint64_t begin, uint64_t end,
                  uint32_t crc, const Error& fault, const Request& request);

/// Reads the records in a part of a file one by one.
class RecordReader {
 public:
  /// `source` and `request` must outlive this object.
  RecordReader(const Source& source, uint64_t begin, uint64_t end,
               const Request& request)
      : source_(source),
        request_(request),
        window_(source, request),
        at_(begin),
        end_(end) {}

  /// Returns the next record; nullopt at the end. Fails like ParseRecord.
  Maybe<Record> Next();
  /// Returns the first `most` bytes of the content of `record`, or all of a
  /// shorter content. They are valid until the next call of Start or Next.
  Result<Bytes> Start(const Record& record, uint64_t most);

 private:
  const Source& source_;
  const Request& request_;
  WindowReader window_;
  Buffer long_;  // content beyond WindowReader::kMax
  uint64_t at_;
  const uint64_t end_;
};

/// The next string of `in`: u32 length, bytes.
inline std::string_view TakeText(ByteReader& in) {
  const uint32_t length = in.U32();
  return AsText(in.Take(length));
}
/// Whether `map` is a sequence of pairs of strings, as TakeText reads them.
bool IsTextMap(std::string_view map);

struct Message {
  uint16_t channel;
  uint32_t sequence;
  uint64_t log_time;
  uint64_t publish_time;
};
/// Parses the fields of a message, whose data `content` need not have; nullopt
/// if `content` is shorter than the fields.
std::optional<Message> ParseMessage(Bytes content);

enum class Compression : uint8_t { kNone, kZstd, kLz4, kOther };
Compression CompressionOf(std::string_view name);

struct Chunk {
  Record record;
  uint64_t size;        // decoded
  uint64_t counts = 0;  // CountsDigest of its messages
  Compression compression;
};

/// The fields of a chunk record.
struct ChunkFields : Chunk {
  uint32_t crc;     // of the decoded records; 0: none
  uint64_t data;    // byte of the file
  uint64_t stored;  // bytes
};

/// An attachment or a metadata record.
struct FileRecord {
  Record record;
  std::string name = {};
  // The members below are only of an attachment.
  std::string media_type = {};
  uint64_t time = 0;  // creation time; log time if that is 0
  uint64_t size = 0;  // of its data
  uint64_t data = 0;  // byte of the file; 0: not known yet
};

/// Reads the fields of the chunk or attachment `record`. Fails like ReadRecord,
/// and with kCorrupt if its data does not end within the record.
Result<ChunkFields> ReadChunk(const Source& source, const Record& record,
                              const Request& request);
Result<FileRecord> ReadAttachment(const Source& source, const Record& record,
                                  const Request& request);

}  // namespace ctxfs::mcap
