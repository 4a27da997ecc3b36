// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/formats/mcap/records.h"

namespace ctxfs::mcap {

/// Of a second: times are numbers of nanoseconds.
constexpr uint64_t kNanoseconds = 1'000'000'000;

struct Schema {
  uint16_t id;
  std::string name;
  std::string encoding;
  std::string data;
};

/// A message outside of chunks.
struct LooseMessage {
  uint64_t at;      // byte of its fields
  uint64_t length;  // of fields and data
};

/// Messages of a channel that follow each other in the file: all in one chunk,
/// or all outside of chunks.
struct Run {
  static constexpr uint32_t kLoose = uint32_t{1} << 31;

  uint32_t first;  // number of its first message
  uint32_t place;  // of a chunk; or kLoose + index in Channel::loose

  bool is_loose() const { return (place & kLoose) != 0; }
};

struct Channel {
  uint16_t id;
  uint16_t schema_id;
  std::string topic;
  std::string encoding;
  std::string metadata;  // pairs of strings
  uint32_t messages = 0;
  std::vector<Run> runs = {};
  std::vector<LooseMessage> loose = {};

  /// The number after the last message of run `run`.
  uint32_t EndOf(size_t run) const {
    return run + 1 < runs.size() ? runs[run + 1].first : messages;
  }
  /// The run with message `message`, which must exist.
  size_t RunOf(uint32_t message) const;
};

enum class Compression : uint8_t { kNone, kZstd, kLz4, kOther };
Compression CompressionOf(std::string_view name);
/// "none", "zstd", "lz4" or "other".
const char* CompressionName(Compression compression);

struct Chunk {
  uint64_t at;      // of the opcode
  uint64_t length;  // of the content
  uint64_t size;    // decoded
  uint64_t counts;  // CountsDigest of its messages
  Compression compression;

  Record record() const { return {Op::kChunk, at, length}; }
};

/// Messages of each channel in a chunk; none of them 0.
using Counts = std::vector<std::pair<uint16_t, uint32_t>>;
/// Equal for equal counts, in any order.
uint64_t CountsDigest(const Counts& counts);

struct Attachment {
  uint64_t at;      // of the opcode
  uint64_t length;  // of the content
  AttachmentRecord fields;
};

struct MetadataPlace {
  uint64_t at;      // of the opcode
  uint64_t length;  // of the content
  std::string name;
};

/// What the index or a walk of a file says of it.
struct Index {
  std::string profile;
  std::string library;
  std::vector<Schema> schemas;    // by id
  std::vector<Channel> channels;  // by id
  std::vector<Chunk> chunks;      // in the order of the file, like the others
  std::vector<Attachment> attachments;
  std::vector<MetadataPlace> metadata;
  uint64_t messages = 0;
  std::optional<std::pair<uint64_t, uint64_t>> times;  // first and last
  bool walked = false;
  bool summary_verified = false;  // the schemas are from it
  std::optional<Record> data_end;
  /// Channels of which a message has an earlier log time than the one before.
  std::set<uint16_t> unordered;
  std::vector<Warning> warnings;
};

/// Whether the record is a schema or a channel.
inline bool IsDefinition(const Record& record) {
  return record.op == Op::kSchema || record.op == Op::kChannel;
}

/// Makes an Index of records in the order of the file.
class IndexBuilder {
 public:
  Index& index() { return index_; }

  /// The first record of an id counts. Ignores a schema with the id 0.
  Status Add(const SchemaRecord& schema, uint64_t at);
  Status Add(const ChannelRecord& channel, uint64_t at);
  /// Adds a schema or channel. Fails with kCorrupt if its fields do not fit.
  Status Add(const Record& record, Bytes content);
  /// From here on, definitions of known ids are ignored without a warning: they
  /// are copies that may be damaged.
  void TakeNewDefinitionsAlone() { redefined_ = true; }
  Status AddChunk(Chunk chunk, const Counts& counts);
  Status AddMessage(const MessageRecord& message, const Record& record);
  Status AddAttachment(Attachment attachment);
  Status AddMetadata(MetadataPlace metadata);

  /// Counts `messages` between two times.
  void CountTimes(uint64_t first, uint64_t last);

  /// Sorts schemas and channels, and warns of what is missing.
  Index Finish() &&;

 private:
  Channel* Find(uint16_t id);
  /// Adds `bytes` of texts; fails with kLimit if there are more than `most`.
  static Status Count(uint64_t& sum, uint64_t bytes, uint64_t most,
                      std::string_view what, uint64_t at);
  Status CountRecord(uint64_t at);
  Status AddRun(Channel& channel, uint32_t place, uint32_t count, uint64_t at);
  void WarnOnce(bool& warned, std::string text, uint64_t at);

  Index index_;
  std::unordered_map<uint16_t, size_t> schemas_;
  std::unordered_map<uint16_t, size_t> channels_;
  uint64_t schema_bytes_ = 0;
  uint64_t channel_bytes_ = 0;
  uint64_t name_bytes_ = 0;
  bool redefined_ = false;
  bool no_channel_ = false;
  bool no_schema_ = false;
};

}  // namespace ctxfs::mcap
