// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

/// A schema; or a channel without its messages.
struct Definition {
  uint16_t id = 0;
  uint16_t schema = 0;   // of a channel; 0: none
  std::string name;      // or topic
  std::string encoding;  // or that of messages
  std::string data;      // or metadata: pairs of strings

  bool operator==(const Definition&) const = default;
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

struct Channel : Definition {
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

/// Messages of each channel in a chunk; none of them 0.
using Counts = std::vector<std::pair<uint16_t, uint32_t>>;
/// Equal for equal counts, in any order.
uint64_t CountsDigest(const Counts& counts);

struct Chunk {
  uint64_t at;      // of the opcode
  uint64_t length;  // of the content
  uint64_t size;    // decoded
  uint64_t counts;  // CountsDigest of its messages
  Compression compression;
};

/// What the summary or a walk of a file says of it.
struct Index {
  std::vector<Definition> schemas;  // by id
  std::vector<Channel> channels;    // by id
  std::vector<Chunk> chunks;        // in the order of the file, like the others
  std::vector<FileRecord> attachments;
  std::vector<FileRecord> metadata;
  uint64_t messages = 0;
  std::optional<std::pair<uint64_t, uint64_t>> times;  // first and last
  bool walked = false;
  bool summary_verified = false;  // the schemas are from it
  std::optional<Record> data_end;
  /// Channels of which a message has an earlier log time than the one before.
  std::set<uint16_t> unordered;
  std::vector<Warning> warnings;
};

/// Makes an Index of records in the order of the file.
class IndexBuilder {
 public:
  Index index;

  /// Adds a schema or channel (Record::defines). The first record of an id
  /// counts. Fails with kCorrupt if its fields do not fit.
  Status Define(const Record& record, Bytes content);
  Status AddChunk(Chunk chunk, const Counts& counts);
  Status AddMessage(const MessageRecord& message, const Record& record);
  /// Adds an attachment or a metadata record to one of the lists of `index`.
  Status AddFile(std::vector<FileRecord>& files, FileRecord file);
  void CountTimes(uint64_t first, uint64_t last);
  /// Warns once per key.
  void Warn(std::string_view key, std::string_view text, uint64_t at);
  /// From here on, definitions of known ids are ignored without a warning: they
  /// are copies that may be damaged.
  void TakeNewDefinitionsAlone() { warned_.insert("redefined"); }

  /// Sorts schemas and channels, and warns of what is missing.
  Index Finish() &&;

 private:
  /// The channel of `count` messages at `at`; null if it is not defined.
  Channel* Find(uint16_t id, uint32_t count, uint64_t at);
  Status AddRun(Channel& channel, uint32_t place, uint32_t count, uint64_t at);
  Status CountRecord(uint64_t at);

  std::unordered_map<uint16_t, size_t> schemas_;
  std::unordered_map<uint16_t, size_t> channels_;
  std::array<uint64_t, 2> definition_bytes_ = {};  // of schemas, of channels
  uint64_t name_bytes_ = 0;
  std::unordered_map<uint16_t, uint64_t> last_times_;  // of loose messages
  std::set<std::string_view> warned_;
};

/// The footer record, and where it stands.
struct Footer {
  uint64_t at;
  uint64_t summary;  // byte of the file; 0: none
  uint32_t crc;      // 0: none
};

/// Reads the footer. Fails with kCorrupt, "no_footer", if the file does not end
/// in one.
Result<Footer> ReadFooter(const Source& source, const Request& request);

/// Compares the place and the checksum of the summary with the file, whose
/// data begins at `data`. Fails with "summary" or "summary_crc".
Status CheckSummary(const Source& source, const Footer& footer, uint64_t data,
                    bool verify, const Request& request);

/// What the summary says (docs/formats/mcap.md, section 6).
struct Summary {
  /// Set if the summary proves that it is complete.
  std::optional<Index> index;
  /// Why it contradicts itself or the file; empty if it is complete, or only
  /// lacks records.
  std::string contradiction;
  std::optional<uint64_t> messages;  // of the statistics
  /// By the statistics: schemas, channels, attachments, metadata, chunks.
  std::array<uint64_t, 5> counts = {};
};

/// Reads a summary that CheckSummary accepts. Fails with kCorrupt, "summary",
/// if its records do not end at the footer.
Result<Summary> ReadSummary(const Source& source, const Footer& footer,
                            uint64_t data, const Request& request);

/// Adds the schemas and channels of a summary to `builder`.
Status AddSummaryChannels(const Source& source, const Footer& footer,
                          IndexBuilder& builder, const Request& request);

/// The directory of each channel below topics/, as names that the tree makes
/// safe (docs/formats/mcap.md, section 8): the topic without one leading slash.
/// Repeated ones get "~2", and so do components that are called like a file of
/// the topic above them.
std::vector<std::string> TopicPaths(const std::vector<Channel>& channels);

/// `path` with `suffix` after its last component. One that the tree makes safe
/// as a whole, such as "..", is made safe first.
std::string WithSuffix(std::string_view path, std::string_view suffix);

/// The extension of messages of an encoding, and of schemas.
std::string_view MessageExtension(std::string_view encoding);
std::string_view SchemaExtension(std::string_view encoding);

}  // namespace ctxfs::mcap
