// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/interfaces/shows_samples.h"
#include "core/formats/mcap/chunks.h"
#include "core/formats/mcap/index.h"

namespace ctxfs::mcap {

/// A field of messages, of which each channel has an array.
struct Field {
  const char* name;
  DType dtype;
  uint64_t (*value)(const Message& message);
};
constexpr std::array<Field, 3> kFields = {
    {{"log_time", DType::kU64, [](const Message& one) { return one.log_time; }},
     {"publish_time", DType::kU64,
      [](const Message& one) { return one.publish_time; }},
     {"sequence", DType::kU32,
      [](const Message& one) { return uint64_t{one.sequence}; }}}};

/// A message: its fields, and where its data is.
struct FoundMessage {
  Message fields;
  std::optional<uint32_t> chunk;  // nullopt: outside of chunks
  uint64_t data;                  // offset in the decoded chunk or the file
  uint64_t size;
};

/// An MCAP recording (docs/formats/mcap.md). Its entries are, in this order:
/// three arrays for each channel, the schemas, the attachments and the metadata
/// records.
class Recording final : public Container,
                        public SaysFacts,
                        public ShowsSamples {
 public:
  Recording(std::shared_ptr<const Source> source, const OpenOptions& options);

  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  /// info.json lists the topics that are not in the order of log times, which
  /// are only known once their chunks have been decoded.
  bool InfoMayChange() const override { return true; }
  bool PartsFailAlone() const override { return true; }
  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  Exports Export() const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;

  const Index& index() const { return index_; }
  const Chunks& chunks() const { return *chunks_; }
  const Channel& ChannelAt(uint32_t number) const {
    return index_.channels[number];
  }
  /// Returns TOPIC/FIELD: the path of an array below topics/, and the array's
  /// name in views.
  std::string ArrayName(uint32_t array) const {
    return paths_[array / kFields.size()] + "/" + FieldOf(array).name;
  }
  const Channel& ChannelOf(uint32_t array) const {
    return index_.channels[array / kFields.size()];
  }
  static const Field& FieldOf(uint32_t array) {
    return kFields[array % kFields.size()];
  }
  uint32_t arrays() const {
    return static_cast<uint32_t>(index_.channels.size() * kFields.size());
  }
  /// Finds message `message` of channel `channel`. Decodes its chunk.
  Result<FoundMessage> Find(uint32_t channel, uint32_t message,
                            const ReadContext& context) const;
  /// The size of a message's data. nullopt for a message in a chunk, because
  /// only the decoded chunk has it.
  std::optional<uint64_t> KnownSize(uint32_t channel, uint32_t message) const;
  Content DataOf(const FoundMessage& message) const;
  Result<Content> OpenMessage(uint32_t channel, uint32_t message,
                              const ReadContext& context) const;
  /// Returns the text of EntryInfo::verified for all messages of a channel.
  std::string VerifiedOf(const Channel& channel) const;
  /// The values of an array: one field of all messages of a channel, in the
  /// order of the messages.
  Content ValuesOf(uint32_t array) const;
  uint64_t SizeOf(uint32_t array) const {
    return uint64_t{ChannelOf(array).messages} *
           DTypeSize(FieldOf(array).dtype);
  }

  /// Opens the data of an attachment. Fails with kCorrupt if the file does not
  /// have the attachment that the index describes.
  Result<Content> OpenAttachment(uint32_t attachment,
                                 const ReadContext& context) const;
  void DescribeAttachment(uint32_t attachment, EntryInfo& info,
                          const ReadContext& context) const;
  /// A metadata record as JSON.
  Result<Content> OpenMetadata(uint32_t metadata,
                               const ReadContext& context) const;

 private:
  /// Reads the header record. Returns the offset of its end.
  Result<uint64_t> LoadHeader(const ReadContext& context);
  /// Warns if a chunk has an unknown compression, and sets verifies_chunks_.
  Status LookAtChunks(const ReadContext& context);
  /// The table of the entries (entries.cc).
  std::shared_ptr<const FileTable> EntryFiles() const;
  std::string ChannelsJson(const std::vector<std::string>& paths) const;
  /// Adds topics/TOPIC/messages and, if the messages are JSON,
  /// views/messages/TOPIC.jsonl (messages.cc).
  void AddMessageFiles(uint32_t channel, Tables& tables) const;
  /// Adds views/pictures (pictures.cc).
  void AddPictureFiles(Tables& tables) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  const std::shared_ptr<Chunks> chunks_;
  std::string profile_;
  std::string library_;
  Index index_;                     // without its chunks
  std::vector<std::string> paths_;  // of channels: TopicPaths
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;  // of attachments
  /// Whether chunks have checksums that reads verify, judged by the first one.
  bool verifies_chunks_ = false;
};

/// The directory of each channel below topics/, as names that the tree makes
/// safe (docs/formats/mcap.md, section 8): the topic without one leading slash.
/// A repeated directory gets "~2", "~3" and so on after it. A component gets
/// "~2" if it has the name of a file of the topic above it.
std::vector<std::string> TopicPaths(const std::vector<Channel>& channels);

/// Returns `path` with `suffix` after its last component. A component that the
/// tree would replace as a whole, such as "..", is replaced first.
std::string WithSuffix(std::string_view path, std::string_view suffix);

/// The file extensions of messages and of schemas, by their encoding; "bin" for
/// an unknown encoding.
std::string_view MessageExtension(std::string_view encoding);
std::string_view SchemaExtension(std::string_view encoding);

}  // namespace ctxfs::mcap
