// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/formats/mcap/records.h"

namespace ctxfs::mcap {

/// Nanoseconds in a second. MCAP stores times as numbers of nanoseconds.
constexpr uint64_t kNanoseconds = 1'000'000'000;

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
  uint32_t place;  // chunk number, or kLoose + index in Channel::loose

  bool is_loose() const { return (place & kLoose) != 0; }
};

/// A schema or a channel.
struct Definition {
  uint16_t id = 0;
  uint16_t schema = 0;   // id of a channel's schema; 0: none
  std::string name;      // of a channel: topic
  std::string encoding;  // of a channel: of messages
  std::string data;      // of a channel: metadata, a map of strings

  bool operator==(const Definition&) const = default;
};

struct Channel : Definition {
  uint32_t messages = 0;
  std::vector<Run> runs = {};
  std::vector<LooseMessage> loose = {};
  uint64_t last_loose = 0;  // log time of the last message in `loose`

  /// The number after the last message of run `run`.
  uint32_t EndOf(size_t run) const {
    return run + 1 < runs.size() ? runs[run + 1].first : messages;
  }
  /// The run with message `message`, which must exist.
  size_t RunOf(uint32_t message) const;
};

/// Channels in a chunk, each with its number of messages, which is never 0.
using Counts = std::vector<std::pair<uint16_t, uint32_t>>;
/// A digest that is the same for the same counts in any order.
uint64_t CountsDigest(const Counts& counts);

/// The index of a file, from its summary or from a walk over its records.
struct Index {
  std::vector<Definition> schemas;  // by id
  std::vector<Channel> channels;    // by id
  std::vector<Chunk> chunks;        // in file order, like the next two
  std::vector<FileRecord> attachments;
  std::vector<FileRecord> metadata;
  uint64_t messages = 0;
  std::optional<std::pair<uint64_t, uint64_t>> times;  // first and last
  bool walked = false;
  bool summary_verified = false;  // the schemas come from it
  std::optional<Record> data_end;
  /// Channels of which a message has an earlier log time than the channel's
  /// message before it, in a chunk or among those outside of chunks.
  std::set<uint16_t> unordered;
  std::vector<Warning> warnings;

  /// The schema of a channel; null if it has none.
  const Definition* SchemaOf(const Channel& channel) const;
};

/// Builds an Index. Records must be added in the order of the file.
class IndexBuilder {
 public:
  Index index;

  /// Adds a schema or channel (Record::defines). Of several records with the
  /// same id, the first counts. Fails with kCorrupt if the fields exceed the
  /// record.
  Status Define(const Record& record, Bytes content);
  Status AddChunk(Chunk chunk, const Counts& counts);
  Status AddMessage(const Record& record, const Message& message);
  /// Adds an attachment or a metadata record.
  Status AddFile(FileRecord file);
  void AddTime(uint64_t log_time);
  /// After this call, definitions of known ids are ignored without a warning,
  /// because they are copies and may be damaged.
  void TakeNewDefinitionsAlone() { warned_.insert("redefined"); }

  /// Returns the index, with schemas and channels sorted by id. Warns if a
  /// schema that a channel refers to has no record.
  Index Finish() &&;

 private:
  struct Definitions {
    uint64_t bytes = 0;
    std::map<uint16_t, Channel> by_id;
  };

  /// Adds a warning, unless there is one with this key.
  void Warn(std::string_view key, std::string_view text, uint64_t at);
  /// Counts `count` messages at byte `at`, and returns their channel; null,
  /// with a warning, if no record defines it.
  Channel* Find(uint16_t id, uint32_t count, uint64_t at);
  Status AddRun(Channel& channel, uint32_t place, uint32_t count, uint64_t at);
  Status CountRecord(const Record& record);

  Definitions schemas_;
  Definitions channels_;
  uint64_t records_ = 0;  // chunks, attachments and metadata
  uint64_t name_bytes_ = 0;
  std::set<std::string_view> warned_;
};

}  // namespace ctxfs::mcap
