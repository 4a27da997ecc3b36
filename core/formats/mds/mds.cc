// SPDX-License-Identifier: Apache-2.0
//
// MDS, the format of mosaicml-streaming (docs/formats/mds.md): a directory.
//
//   index.json       the columns and the shards
//   shard.00000.mds  samples; or compressed, such as shard.00000.mds.zstd
#include "core/formats/mds/mds.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/formats/mds/columns.h"
#include "core/formats/mds/limits.h"

namespace ctxfs::mds {
namespace {

constexpr const char* kIndexName = "index.json";
constexpr size_t kHeadBytes = 4096;

/// Returns the first bytes of index.json if `source` is a directory, else of
/// `source` itself; none if they cannot be read.
Buffer IndexHead(const Source& source, const Request& request) {
  const auto head = [&request](const Source& file) -> Buffer {
    Result<Buffer> read =
        ReadBuffer(file, 0, std::min<uint64_t>(file.size(), kHeadBytes),
                   kIndexName, request);
    return read ? *std::move(read) : Buffer();
  };
  if (!source.is_directory()) return head(source);
  const Result<SourcePtr> index = source.OpenBeside(kIndexName, request);
  return index ? head(**index) : Buffer();
}

bool ProbeSource(const Source& source, const Request& request) {
  return StartsIndex(IndexHead(source, request).span());
}

bool Probe(Bytes head) { return StartsIndex(head); }

}  // namespace

Status MdsContainer::Load(const ReadContext& context) {
  CTXFS_TRY(ReadIndex(context));
  for (const Warning& warning : CTXFS_TRY(shards_->Load(context))) {
    Warn(warning);
  }
  WarnOfUnknown();
  if (source()->is_directory()) AddStoredSize(index_file_->stored_size());
  AddStoredSize(shards_->stored_bytes());
  for (uint32_t i = 0; i < index().columns.size(); ++i) {
    if (index().columns[i].kind == ColumnKind::kJoined) joined_.push_back(i);
  }
  const MutexLock lock(mutex_);
  suffixes_.resize(index().columns.size());
  return {};
}

Status MdsContainer::ReadIndex(const ReadContext& context) {
  index_file_ = source()->is_directory()
                    ? CTXFS_TRY(source()->OpenBeside(kIndexName, context))
                    : source();
  const uint64_t size = index_file_->size();
  if (size > kMaxIndexBytes) {
    return OverLimit(fmt::format("limit: an index of {} bytes is", size),
                     kMaxIndexBytes);
  }
  const Buffer text =
      CTXFS_TRY(ReadBuffer(*index_file_, 0, size, kIndexName, context));
  Index index = CTXFS_TRY(ParseIndex(AsText(text.span()), context));
  shards_ = std::make_shared<Shards>(source(), std::move(index), options_);
  return {};
}

void MdsContainer::WarnOfUnknown() {
  for (const std::string& name : index().unknown_hashes) {
    Warn({"hash: the algorithm " + Quote(name) + " is unknown"});
  }
  for (const Column& column : index().columns) {
    if (!column.unknown) continue;
    Warn(
        {fmt::format("encoding: {} of the column {} is unknown: its files "
                     "have the stored bytes",
                     Quote(column.encoding), Quote(column.name))});
  }
}

uint64_t MdsContainer::JoinedSize(uint32_t column) const {
  return index().columns[column].size * index().samples;
}

std::vector<uint64_t> MdsContainer::ShapeOf(const Column& column) const {
  std::vector<uint64_t> shape = {index().samples};
  shape.insert(shape.end(), column.shape.begin(), column.shape.end());
  return shape;
}

Result<std::string> MdsContainer::SuffixOf(uint32_t column,
                                           const ReadContext& context) const {
  const Column& of = index().columns[column];
  if (!of.named_by_value) return of.suffix;
  {
    const MutexLock lock(mutex_);
    if (suffixes_[column]) return *suffixes_[column];
  }
  std::string suffix = CTXFS_TRY(FindSuffix(*shards_, column, context));
  const MutexLock lock(mutex_);
  suffixes_[column] = suffix;
  return suffix;
}

FileFacts MdsContainer::FactsOf(uint32_t sample) const {
  const uint32_t shard = shards_->ShardOf(sample);
  std::optional<Error> fault = shards_->Fault(shard);
  if (fault) return {0, std::move(fault)};
  return {.size_cost =
              shards_->compressed(shard) ? Cost::kDecode : Cost::kSmallRead};
}

std::shared_ptr<const FileTable> MdsContainer::JoinedFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kEntries, .shared = true},
       .count = static_cast<uint32_t>(joined_.size()),
       .path = [this](uint32_t entry,
                      std::string& scratch) -> std::string_view {
         scratch = DirectoryOf(index().columns[joined_[entry]]);
         return scratch;
       },
       .open = [this](uint32_t entry,
                      const ReadContext& /*context*/) -> Result<Content> {
         return JoinedContent(shards_, joined_[entry]);
       },
       .facts =
           [this](uint32_t entry) {
             return FileFacts{JoinedSize(joined_[entry])};
           },
       .describe =
           [this](uint32_t entry, const ReadContext& /*context*/) {
             return DescribeJoined(joined_[entry]);
           },
       .owner = Share(*this)});
}

std::shared_ptr<const FileTable> MdsContainer::ValueFiles(
    uint32_t column) const {
  const Column& of = index().columns[column];
  const bool list = of.kind == ColumnKind::kList;
  Numbering numbering{.suffix = list ? "" : of.suffix};
  if (of.named_by_value) {
    numbering.find_suffix = [this, column](const ReadContext& context) {
      return SuffixOf(column, context);
    };
  }
  if (list) {
    numbering.open_directory = [this, column](uint32_t sample,
                                              const ReadContext& context) {
      return OpenList(column, sample, context);
    };
  }
  return MakeTable(
      {.placement = {.role = list ? Role::kPrimary : Role::kEntries,
                     .directory = DirectoryOf(of),
                     .numbering = std::move(numbering)},
       .count = index().samples,
       .path = &NoPath,
       .open =
           [this, column](uint32_t sample, const ReadContext& context) {
             return OpenValue(column, sample, context);
           },
       .facts = [this](uint32_t sample) { return FactsOf(sample); },
       .describe =
           [this, column](uint32_t sample, const ReadContext& context) {
             return DescribeValue(column, sample, context);
           },
       .owner = Share(*this)});
}

Container::Tables MdsContainer::Files() const {
  Tables tables = {JoinedFiles()};
  for (uint32_t i = 0; i < index().columns.size(); ++i) {
    if (index().columns[i].kind != ColumnKind::kJoined) {
      tables.push_back(ValueFiles(i));
    }
  }
  tables.push_back(
      FixedFile(Role::kMetadata, "metadata.json",
                Content(Range{index_file_, 0, nullptr}, index_file_->size())));
  return tables;
}

Container::Tables MdsContainer::FilesWithPaths(const PathsInTree& paths) const {
  if (index().samples == 0) return {};
  return {SampleLines(Share(*this), paths)};
}

std::vector<std::string> MdsContainer::PartsBeside(
    const ReadContext& /*context*/) const {
  std::vector<std::string> parts;
  for (uint32_t i = 0; i < shards_->count(); ++i) {
    if (!shards_->Fault(i)) parts.push_back(shards_->FileName(i));
  }
  return parts;
}

Exports MdsContainer::Export() const {
  Exports exports;
  if (joined_.empty()) return exports;
  exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
    return self->Arrays();
  };
  return exports;
}

std::vector<ArrayInfo> MdsContainer::Arrays() const {
  std::vector<ArrayInfo> arrays;
  for (const uint32_t i : joined_) {
    const Column& column = index().columns[i];
    ArrayInfo array;
    array.name = column.name;
    array.dtype = *column.dtype;
    array.shape = ShapeOf(column);
    array.open = [shards = shards_,
                  i](const ReadContext& /*context*/) -> Result<Content> {
      return JoinedContent(shards, i);
    };
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace ctxfs::mds

namespace ctxfs {

extern const Format kMds{.name = "mds",
                         .contents = "data sets of mosaicml-streaming",
                         .extensions = "",
                         .golden = "mds",
                         .docs = "mds",
                         .probe = &mds::Probe,
                         .open = &OpenAs<mds::MdsContainer>,
                         .resembles_source = &mds::ProbeSource,
                         .folder_index = "index.json",
                         .folder_parts = ".mds",
                         .probe_directory = &mds::ProbeSource,
                         .traits = {.stays_file = true,
                                    .opens_neighbours = true,
                                    .optional_checksums = true}};

}  // namespace ctxfs
