// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include "core/content/verdict.h"
#include "core/formats/mcap/chunks.h"
#include "core/formats/mcap/index.h"

namespace ctxfs::mcap {

/// The fields of messages that are arrays.
enum class Field : uint8_t { kLogTime, kPublishTime, kSequence };
constexpr uint32_t kFields = 3;

/// "log_time", "publish_time" or "sequence".
const char* FieldName(Field field);
constexpr uint64_t FieldWidth(Field field) {
  return field == Field::kSequence ? 4 : 8;
}
constexpr DType DTypeOf(Field field) {
  return field == Field::kSequence ? DType::kU32 : DType::kU64;
}
/// The field of array `array`: each channel has kFields.
constexpr Field FieldOf(uint32_t array) {
  return static_cast<Field>(array % kFields);
}

/// A message: its fields, and where its data is.
struct FoundMessage {
  MessageRecord fields;
  std::optional<uint32_t> chunk;  // nullopt: outside of chunks
  uint64_t data;                  // byte of the decoded chunk or the file
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
  /// Whether a topic is ordered is known when its chunks are decoded.
  bool InfoMayChange() const override { return true; }
  bool PartsFailAlone() const override { return true; }
  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  Exports Export() const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;

  const Index& index() const { return *index_; }
  const Chunks& chunks() const { return *chunks_; }
  /// The directory of a channel below topics/ (TopicPaths).
  const std::string& path(uint32_t channel) const { return paths_[channel]; }
  /// The schema of a channel; null if it has none.
  const Definition* SchemaOf(const Channel& channel) const;
  uint32_t arrays() const {
    return static_cast<uint32_t>(index_->channels.size()) * kFields;
  }

  /// Finds message `message` of channel `channel`. Decodes its chunk.
  Result<FoundMessage> Find(uint32_t channel, uint32_t message,
                            const ReadContext& context) const;
  /// Like Find, of a message in run `run`, whose LayoutOf is `layout`.
  Result<FoundMessage> FindIn(uint32_t channel, size_t run,
                              const Layout* layout, uint32_t message,
                              const Request& request) const;
  /// The layout of the chunk of run `run`; null outside of chunks.
  Result<std::shared_ptr<const Layout>> LayoutOf(
      uint32_t channel, size_t run, const ReadContext& context) const;
  /// The size of a message's data, if the index has it.
  std::optional<uint64_t> KnownSize(uint32_t channel, uint32_t message) const;
  Content DataOf(const FoundMessage& message) const;
  /// EntryInfo::verified of all messages of a channel.
  std::string VerifiedOf(uint32_t channel) const;
  /// The values of a field of all messages of a channel, in their order.
  Content ValuesOf(uint32_t array) const;

  Result<Content> OpenAttachment(uint32_t attachment,
                                 const ReadContext& context) const;
  EntryInfo DescribeAttachment(uint32_t attachment,
                               const ReadContext& context) const;
  /// A metadata record as JSON.
  Result<Content> OpenMetadata(uint32_t metadata,
                               const ReadContext& context) const;

 private:
  /// Reads the header record. Returns the end of it.
  Result<uint64_t> LoadHeader(const ReadContext& context);
  Result<Index> LoadIndex(uint64_t data, const ReadContext& context);
  /// The index by the summary if it is complete, else by a walk.
  Result<Index> ReadOrWalk(uint64_t data, const Footer& footer,
                           const ReadContext& context);
  /// Walks as far as records fit. `reason`: why the file is damaged; `footer`:
  /// that of a sound summary, or null.
  Result<Index> Salvage(uint64_t data, const Footer* footer,
                        const Error& reason, const ReadContext& context);
  std::shared_ptr<const FileTable> MessageFiles(uint32_t channel) const;
  /// views/messages/TOPIC.jsonl
  std::shared_ptr<const FileTable> MessageLines(uint32_t channel) const;
  /// views/pictures
  Tables PictureFiles() const;
  std::string ChannelsJson(const std::vector<std::string>& paths) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  const std::shared_ptr<Chunks> chunks_;
  std::string profile_;
  std::string library_;
  std::unique_ptr<const Index> index_;
  std::vector<std::string> paths_;
  /// Whether chunks have checksums that reads verify, judged by the first one.
  bool verifies_chunks_ = false;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;  // of attachments
};

/// A description with the members that all entries have.
EntryInfo InfoOf(std::string name, const char* kind, uint64_t size);

/// The entries (entries.cc).
std::shared_ptr<const FileTable> EntryTable(
    std::shared_ptr<const Recording> recording);

}  // namespace ctxfs::mcap
