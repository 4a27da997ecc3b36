// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/interfaces/shows_samples.h"
#include "core/content/verdict.h"
#include "core/formats/mcap/chunks.h"
#include "core/formats/mcap/index.h"
#include "core/formats/mcap/messages.h"
#include "core/formats/mcap/summary.h"

namespace ctxfs::mcap {

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
  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  std::vector<ChildContainer> Children() const override;
  Exports Export() const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;

  const Index& index() const { return *index_; }
  const std::shared_ptr<const Messages>& messages() const { return messages_; }
  /// The directory of a channel below topics/ (TopicPaths).
  const std::string& path(uint32_t channel) const { return paths_[channel]; }
  /// The schema of a channel; null if it has none.
  const Schema* SchemaOf(const Channel& channel) const;
  /// Whether chunks have checksums that reads verify, judged by the first one.
  bool verifies_chunks() const { return verifies_chunks_; }

  // Entries.

  uint32_t channel_entries() const {
    return static_cast<uint32_t>(index_->channels.size()) * kFields;
  }
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
  Status FindChecksums(const ReadContext& context);
  /// The record of an attachment, and its data.
  Result<std::pair<Record, AttachmentRecord>> ReadAttachment(
      uint32_t attachment, const ReadContext& context) const;
  std::shared_ptr<const FileTable> MessageFiles(uint32_t channel) const;
  std::shared_ptr<const FileTable> MessageLines(uint32_t channel) const;
  EntryInfo DescribeMessage(uint32_t channel, uint32_t message) const;
  std::string ChannelsJson(const std::vector<std::string>& paths) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  const std::shared_ptr<Chunks> chunks_;
  std::string profile_;
  std::string library_;
  std::shared_ptr<const Index> index_;
  std::shared_ptr<const Messages> messages_;
  std::vector<std::string> paths_;
  bool verifies_chunks_ = false;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;  // of attachments
};

/// The entries (entries.cc).
std::shared_ptr<const FileTable> EntryTable(
    std::shared_ptr<const Recording> recording);

/// Numbers of the channels whose messages have compressed pictures, and
/// views/pictures as a container (pictures.cc).
std::vector<uint32_t> PictureChannels(const Recording& recording);
Result<std::shared_ptr<const Container>> OpenPictures(
    std::shared_ptr<const Recording> recording, const ReadContext& context);
/// The picture in a message; fails with kCorrupt if there is none.
Result<Content> PictureIn(const Recording& recording, uint32_t channel,
                          uint32_t message, const ReadContext& context);

}  // namespace ctxfs::mcap
