// SPDX-License-Identifier: Apache-2.0
//
// MegaContext (docs/megacontext.md): a directory of levels, LOD0.ctx the tokens
// and LOD1.ctx, LOD2.ctx ... gists of ever more of them, with metadata.json and
// snapshots below checkpoints/; or one such file alone. Entries are the levels'
// payloads; every block and gist is a file of its own, by number.
#include <algorithm>
#include <map>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/container/format.h"
#include "core/container/made_file.h"
#include "core/formats/megacontext/level.h"
#include "core/formats/megacontext/metadata.h"

namespace ctxfs {
namespace {

using SourcePtr = std::shared_ptr<const Source>;
using Listing = std::vector<DirectoryEntry>;

constexpr uint64_t kPayloadAt = ContextLevel::kPayloadAt;
constexpr const char* kMetadata = "metadata.json";
constexpr const char* kCheckpoints = "checkpoints";

/// The level files in a directory, by level: LOD1.ctx before L1.ctx, which
/// older documents have.
std::map<uint32_t, std::vector<std::string>> LevelFiles(
    const Listing& listing) {
  std::map<uint32_t, std::vector<std::string>> files;
  for (const DirectoryEntry& entry : listing) {
    if (entry.directory) continue;
    const std::optional<uint32_t> number = ContextLevelNumber(entry.name);
    if (number) files[*number].push_back(entry.name);
  }
  for (auto& [number, names] : files) {
    std::sort(names.begin(), names.end(), std::greater<>());
  }
  return files;
}

/// A snapshot of a tree: like a tree, but without directories of its own. Its
/// files may be links into the tree that it is a snapshot of.
class SnapshotSource final : public Source {
 public:
  SnapshotSource(SourcePtr tree, SourcePtr directory, std::string path)
      : tree_(std::move(tree)),
        directory_(std::move(directory)),
        path_(std::move(path)) {}

  uint64_t size() const override { return 0; }
  FileTime mtime() const override { return directory_->mtime(); }
  bool is_directory() const override { return true; }
  Status ReadAt(uint64_t offset, MutableBytes out) const override {
    return directory_->ReadAt(offset, out);
  }
  Result<Listing> List() const override {
    Result<Listing> listing = directory_->List();
    if (listing) {
      std::erase_if(*listing,
                    [](const auto& entry) { return entry.directory; });
    }
    return listing;
  }
  Result<SourcePtr> OpenBeside(const std::string& path) const override {
    return tree_->OpenBeside(path_ + "/" + path);
  }

 private:
  SourcePtr tree_;
  SourcePtr directory_;
  std::string path_;  // of the snapshot, from the tree
};

class MegaContext final : public Container {
 public:
  explicit MegaContext(SourcePtr source) : Container(std::move(source)) {}

  /// Reads the levels' headers. To be called once, before anything else.
  Status Load(const ReadContext& /*context*/);

  uint64_t StoredSize() const override;
  Json Info(const ReadContext& /*context*/) const override;
  uint32_t entry_count() const override {
    return static_cast<uint32_t>(levels_.size());
  }
  std::optional<std::string_view> EntryName(uint32_t entry) const override {
    return names_[entry];
  }
  uint64_t EntrySize(uint32_t entry) const override {
    const ContextLevel& level = levels_[entry];
    return level.fault ? 0 : level.payload_size();
  }
  EntryInfo Describe(uint32_t entry) const override;
  std::optional<Error> EntryFault(uint32_t entry) const override {
    return levels_[entry].fault;
  }
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& /*context*/) const override;
  bool NamesEntriesItself() const override { return true; }
  std::vector<OwnFile> OwnFiles() const override;
  std::vector<SubContainer> SubContainers() const override;
  std::vector<NumberedFiles> Numbered() const override;
  std::vector<ArrayInfo> Arrays(const ReadContext& /*context*/) const override;
  std::optional<ArraysUse> ArraysUsed() const override {
    for (const ContextLevel& level : levels_) {
      if (!level.fault) return ArraysUse{"tree"};
    }
    return std::nullopt;
  }

 private:
  Status LoadFile();
  Status LoadTree();
  Status LoadLevels(const Listing& listing);
  void LoadMetadata(const Listing& listing);
  void FindSnapshots(const Listing& listing);
  Json TreeJson() const;
  /// `length` bytes of the level's payload from `offset` on.
  static Content Part(const ContextLevel& level, uint64_t offset,
                      uint64_t length);
  NumberedFiles Blocks(const ContextLevel& level) const;
  NumberedFiles Gists(const ContextLevel& level) const;

  std::vector<ContextLevel> levels_;
  std::vector<std::string> names_;  // of the payloads, by level
  SourcePtr metadata_;              // null for none
  std::vector<std::string> snapshots_;
  std::vector<std::string> warnings_;
};

Status MegaContext::Load(const ReadContext& /*context*/) {
  if (Status loaded = source()->is_directory() ? LoadTree() : LoadFile();
      !loaded) {
    return loaded;
  }
  for (const ContextLevel& level : levels_) {
    names_.push_back(level.Directory() + "/" + level.PayloadName());
  }
  return {};
}

Status MegaContext::LoadFile() {
  ContextLevel level = ReadContextLevel("", std::nullopt, source());
  if (level.fault) return *std::move(level.fault);
  warnings_ = level.warnings;
  levels_.push_back(std::move(level));
  return {};
}

Status MegaContext::LoadTree() {
  const Result<Listing> listing = source()->List();
  if (!listing) return listing.error();
  if (Status loaded = LoadLevels(*listing); !loaded) return loaded;
  for (const std::string& text : CompareLevels(levels_)) {
    warnings_.push_back(text);
  }
  LoadMetadata(*listing);
  FindSnapshots(*listing);
  return {};
}

Status MegaContext::LoadLevels(const Listing& listing) {
  for (const auto& [number, files] : LevelFiles(listing)) {
    if (levels_.size() == limits::kContextLevels) {
      warnings_.push_back("more than " +
                          std::to_string(limits::kContextLevels) +
                          " levels: the rest is not shown");
      break;
    }
    levels_.push_back(
        ReadContextLevel(files[0], number, source()->OpenBeside(files[0])));
    // A store that fails is no damage of the level, and may not fail the next
    // time: it is not to be lost for good.
    const ContextLevel& level = levels_.back();
    if (level.source != nullptr && level.fault && !level.fault->Permanent()) {
      return *level.fault;
    }
    for (size_t i = 1; i < files.size(); ++i) {
      warnings_.push_back(Quote(files[i]) + " left out: there is " + files[0]);
    }
  }
  if (levels_.empty()) {
    return Error{Code::kNotContainer,
                 "not a container: no level file (LOD0.ctx, LOD1.ctx, ...)"};
  }
  const bool all_faulty =
      std::all_of(levels_.begin(), levels_.end(),
                  [](const ContextLevel& level) { return level.fault; });
  if (all_faulty) {
    Error error = *levels_[0].fault;
    error.what = "no level can be read: " + levels_[0].file + ": " + error.what;
    return error;
  }
  for (const ContextLevel& level : levels_) {
    warnings_.insert(warnings_.end(), level.warnings.begin(),
                     level.warnings.end());
    if (level.fault) {
      warnings_.push_back(level.file + ": " + level.fault->Text());
    }
  }
  return {};
}

void MegaContext::LoadMetadata(const Listing& listing) {
  std::optional<std::string> text;
  const bool there =
      std::any_of(listing.begin(), listing.end(), [](const auto& entry) {
        return entry.name == kMetadata && !entry.directory;
      });
  if (there) {
    Result<SourcePtr> file = source()->OpenBeside(kMetadata);
    if (file) metadata_ = std::move(*file);
    Result<Buffer> bytes =
        metadata_ == nullptr ? Result<Buffer>(file.error())
        : metadata_->size() > limits::kContextMetadataBytes
            ? Result<Buffer>(Error{Code::kLimit, "it is over the limit"})
            : ReadBuffer(*metadata_, 0, metadata_->size(), kMetadata);
    if (!bytes) {
      warnings_.push_back(std::string(kMetadata) + ": " + bytes.error().Text());
      return;
    }
    text = AsText(bytes->span());
  }
  for (std::string& warning : CompareMetadata(text, levels_)) {
    warnings_.push_back(std::move(warning));
  }
}

void MegaContext::FindSnapshots(const Listing& listing) {
  const bool there =
      std::any_of(listing.begin(), listing.end(), [](const auto& entry) {
        return entry.name == kCheckpoints && entry.directory;
      });
  if (!there) return;
  const auto open = [this](const std::string& path) -> Result<Listing> {
    Result<SourcePtr> directory = source()->OpenDirectoryBeside(path);
    if (!directory) return std::move(directory).error();
    return (*directory)->List();
  };
  const Result<Listing> checkpoints = open(kCheckpoints);
  if (!checkpoints) {
    warnings_.push_back(std::string(kCheckpoints) + ": " +
                        checkpoints.error().Text());
    return;
  }
  for (const DirectoryEntry& entry : *checkpoints) {
    if (!entry.directory) continue;
    const Result<Listing> inside =
        open(std::string(kCheckpoints) + "/" + entry.name);
    if (!inside || LevelFiles(*inside).empty()) continue;
    if (snapshots_.size() == limits::kContextSnapshots) {
      warnings_.push_back("more than " +
                          std::to_string(limits::kContextSnapshots) +
                          " snapshots: the rest is not shown");
      return;
    }
    snapshots_.push_back(entry.name);
  }
}

Json MegaContext::TreeJson() const {
  Json levels = Json::object();
  bool partial = false;
  for (const ContextLevel& level : levels_) {
    levels[level.file] = level.ToJson();
    partial = partial || level.fault;
  }
  return {{"open", partial ? "ok-partial" : "ok"},
          {"levels", std::move(levels)},
          {"snapshots", snapshots_},
          {"warnings", warnings_}};
}

uint64_t MegaContext::StoredSize() const {
  uint64_t size = source()->stored_size();
  for (const ContextLevel& level : levels_) {
    if (level.source != nullptr) size += level.source->stored_size();
  }
  return size;
}

Json MegaContext::Info(const ReadContext& /*context*/) const {
  uint64_t stored = 0;
  for (const ContextLevel& level : levels_) {
    if (level.source != nullptr) stored += level.source->size();
  }
  return {{"format", "megacontext"},
          {"version", 1},
          {"tree", source()->is_directory()},
          {"entries", entry_count()},
          {"snapshots", snapshots_.size()},
          {"container_size", stored},
          {"warnings", warnings_}};
}

Content MegaContext::Part(const ContextLevel& level, uint64_t offset,
                          uint64_t length) {
  Content content;
  content.Append(Range{level.source, kPayloadAt + offset, nullptr}, length);
  return content;
}

Result<Content> MegaContext::OpenEntry(uint32_t entry,
                                       const ReadContext& /*context*/) const {
  const ContextLevel& level = levels_[entry];
  if (level.fault) return *level.fault;
  return Part(level, 0, level.payload_size());
}

EntryInfo MegaContext::Describe(uint32_t entry) const {
  const ContextLevel& level = levels_[entry];
  EntryInfo info;
  info.name = names_[entry];
  info.kind = level.PayloadName();
  info.verified = "none";
  info.extra["file"] = level.file;
  if (level.fault) {
    info.note = level.fault->what;
    return info;
  }
  info.size = level.payload_size();
  info.stored_size = info.size;
  info.offset = kPayloadAt;
  info.dtype = DTypeName(level.dtype);
  info.shape = level.Shape();
  if (!level.warnings.empty()) info.note = level.warnings[0];
  return info;
}

std::vector<OwnFile> MegaContext::OwnFiles() const {
  auto self = std::static_pointer_cast<const MegaContext>(shared_from_this());
  const auto whole = [](std::string path, SourcePtr file) {
    OwnFile own;
    own.path = std::move(path);
    own.size = file->size();
    own.open = [file](const ReadContext& /*context*/) -> Result<Content> {
      Content content;
      content.Append(Range{file, 0, nullptr}, file->size());
      return content;
    };
    return own;
  };
  const uint64_t owner = NewOwner();
  uint64_t number = 0;
  std::vector<OwnFile> files;
  files.push_back(MadeFile("tree.json", {owner, number++}, source(),
                           [self]() -> Result<std::string> {
                             return FormatJson(self->TreeJson());
                           }));
  if (metadata_ != nullptr) files.push_back(whole(kMetadata, metadata_));
  for (size_t i = 0; i < levels_.size(); ++i) {
    files.push_back(MadeFile(levels_[i].Directory() + "/header.json",
                             {owner, number++}, source(),
                             [self, i]() -> Result<std::string> {
                               const ContextLevel& level = self->levels_[i];
                               // What the store's failure hid is not known.
                               if (level.fault && !level.fault->Permanent()) {
                                 return *level.fault;
                               }
                               return FormatJson(level.HeaderJson());
                             }));
    // What no level serves is still in its file.
    if (source()->is_directory() && levels_[i].source != nullptr) {
      files.push_back(
          whole(".ctxfs/files/" + levels_[i].file, levels_[i].source));
    }
  }
  return files;
}

std::vector<SubContainer> MegaContext::SubContainers() const {
  std::vector<SubContainer> containers;
  for (const std::string& name : snapshots_) {
    SubContainer snapshot;
    snapshot.path = std::string(kCheckpoints) + "/" + name;
    snapshot.open_source =
        [tree = source(), path = snapshot.path](
            const ReadContext& /*context*/) -> Result<SourcePtr> {
      Result<SourcePtr> directory = tree->OpenDirectoryBeside(path);
      if (!directory) return directory;
      return SourcePtr(std::make_shared<const SnapshotSource>(
          tree, std::move(*directory), path));
    };
    containers.push_back(std::move(snapshot));
  }
  return containers;
}

NumberedFiles MegaContext::Blocks(const ContextLevel& level) const {
  auto self = std::static_pointer_cast<const MegaContext>(shared_from_this());
  const uint64_t each = level.header.block_size * level.entry_size;
  NumberedFiles blocks;
  blocks.path = level.Directory() + "/blocks";
  blocks.count =
      static_cast<uint32_t>(std::min<uint64_t>(level.Blocks(), UINT32_MAX - 1));
  // The last one holds what is left.
  blocks.size = [whole = level.payload_size(), each](uint32_t block) {
    return std::min(each, whole - block * each);
  };
  blocks.open = [self, of = &level, each, size = blocks.size](
                    uint32_t block,
                    const ReadContext& /*context*/) -> Result<Content> {
    return Part(*of, block * each, size(block));
  };
  return blocks;
}

NumberedFiles MegaContext::Gists(const ContextLevel& level) const {
  auto self = std::static_pointer_cast<const MegaContext>(shared_from_this());
  NumberedFiles gists;
  gists.path = level.Directory() + "/gist";
  gists.count =
      static_cast<uint32_t>(std::min<uint64_t>(level.entries, UINT32_MAX - 1));
  gists.size = [each = level.entry_size](uint32_t /*gist*/) { return each; };
  gists.open = [self, of = &level](
                   uint32_t gist,
                   const ReadContext& /*context*/) -> Result<Content> {
    return Part(*of, gist * of->entry_size, of->entry_size);
  };
  return gists;
}

std::vector<NumberedFiles> MegaContext::Numbered() const {
  std::vector<NumberedFiles> numbered;
  for (const ContextLevel& level : levels_) {
    if (level.fault) continue;
    if (level.vectors) {
      numbered.push_back(Gists(level));
    } else if (level.header.block_size > 0) {
      numbered.push_back(Blocks(level));
    }
  }
  return numbered;
}

std::vector<ArrayInfo> MegaContext::Arrays(
    const ReadContext& /*context*/) const {
  auto self = std::static_pointer_cast<const MegaContext>(shared_from_this());
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].fault) continue;
    arrays.push_back({names_[i], levels_[i].dtype, levels_[i].Shape(),
                      [self, i](const ReadContext& context) {
                        return self->OpenEntry(i, context);
                      }});
  }
  return arrays;
}

bool Probe(Bytes head) {
  const std::string_view text = AsText(head);
  return text.starts_with("TCCM") || text.starts_with("MCCT");
}

/// Whether a level in it has a header that we understand.
bool ProbeDirectory(const Source& directory) {
  const Result<Listing> listing = directory.List();
  if (!listing) return false;
  for (const auto& [number, files] : LevelFiles(*listing)) {
    if (!ReadContextLevel(files[0], number, directory.OpenBeside(files[0]))
             .fault) {
      return true;
    }
  }
  return false;
}

/// Whether there are levels of whatever kind, or what is written before them
/// and nothing else.
bool ResemblesDirectory(const Source& directory) {
  const Result<Listing> listing = directory.List();
  if (!listing) return false;
  return !LevelFiles(*listing).empty() ||
         (listing->size() == 1 && listing->front().name == kMetadata);
}

Result<std::shared_ptr<const Container>> Open(SourcePtr source,
                                              const OpenOptions& /*options*/,
                                              const ReadContext& context) {
  auto container = std::make_shared<MegaContext>(std::move(source));
  if (Status loaded = container->Load(context); !loaded) {
    return std::move(loaded).error();
  }
  return std::shared_ptr<const Container>(std::move(container));
}

}  // namespace

extern const Format kMegaContext;
const Format kMegaContext{"megacontext", &Probe,          &Open,
                          nullptr,       &ProbeDirectory, &ResemblesDirectory};

}  // namespace ctxfs
