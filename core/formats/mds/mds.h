// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/interfaces/has_parts.h"
#include "core/container/interfaces/shows_samples.h"
#include "core/formats/mds/shards.h"

namespace ctxfs::mds {

/// A data set of mosaicml-streaming: a directory, opened as such or by its
/// index.json (docs/formats/mds.md). A column of kind kJoined is one file; any
/// other column is a directory that has a numbered file or directory for each
/// sample.
class MdsContainer final : public Container,
                           public SaysFacts,
                           public ShowsSamples,
                           public HasParts {
 public:
  MdsContainer(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  /// Reads the index and finds the files of shards. Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  bool PartsFailAlone() const override { return true; }
  Tables Files() const override;
  Tables FilesWithPaths(const PathsInTree& paths) const override;
  Exports Export() const override;
  std::vector<std::string> PartsBeside(
      const ReadContext& context) const override;
  bool ShowsWholeParts() const override { return true; }
  Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const override;

  const Shards& shards() const { return *shards_; }
  const Index& index() const { return shards_->index(); }
  /// The suffix of the files of a column.
  Result<std::string> SuffixOf(uint32_t column,
                               const ReadContext& context) const;

 private:
  Status ReadIndex(const ReadContext& context);
  void WarnOfUnknown();
  EntryInfo DescribeJoined(uint32_t column) const;
  EntryInfo DescribeValue(uint32_t column, uint32_t sample,
                          const ReadContext& context) const;
  FileFacts FactsOf(uint32_t sample) const;
  std::shared_ptr<const FileTable> JoinedFiles() const;
  std::shared_ptr<const FileTable> ValueFiles(uint32_t column) const;
  /// Opens a value as its file shows it: an array without its header.
  Result<Content> OpenValue(uint32_t column, uint32_t sample,
                            const ReadContext& context) const;
  Result<std::shared_ptr<const Container>> OpenList(
      uint32_t column, uint32_t sample, const ReadContext& context) const;
  void InspectLists(uint32_t shard, const ReadContext& context,
                    std::vector<Error>& faults) const;
  std::vector<ArrayInfo> Arrays() const;
  /// Bytes of the file of a joined column.
  uint64_t JoinedSize(uint32_t column) const;
  std::vector<uint64_t> ShapeOf(const Column& column) const;
  Json ColumnsJson() const;
  /// Number of files of columns, without the items of lists.
  uint64_t EntryCount() const;

  const OpenOptions options_;
  SourcePtr index_file_;
  std::shared_ptr<Shards> shards_;
  std::vector<uint32_t> joined_;  // the columns of kind kJoined
  mutable Mutex mutex_;
  mutable std::vector<std::optional<std::string>> suffixes_
      CTXFS_GUARDED_BY(mutex_);
};

/// Returns views/samples.jsonl: a line for each sample.
std::shared_ptr<const FileTable> SampleLines(
    std::shared_ptr<const MdsContainer> of, const PathsInTree& paths);

/// Returns "columns/NAME". The tree makes the components of NAME safe.
inline std::string DirectoryOf(const Column& column) {
  return "columns/" + column.name;
}

/// Returns a number with at least six digits, such as "000042".
std::string NumberText(uint64_t number);

/// Returns the name of a value for messages, such as "column 'x', sample 42".
std::string PlaceOf(const Column& column, uint32_t sample);

}  // namespace ctxfs::mds
