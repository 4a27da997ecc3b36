// SPDX-License-Identifier: Apache-2.0
//
// Implements MegaContext (docs/formats/megacontext.md): a directory of levels,
// or a single level file. LOD0.ctx has the tokens; LOD1.ctx, LOD2.ctx ... have
// gists of the level below. The directory also has metadata.json, and snapshots
// in checkpoints/. The entries are the payloads of levels; every block and gist
// is also a numbered file.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/facts/facts.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/formats/megacontext/level.h"
#include "core/formats/megacontext/limits.h"
#include "core/formats/megacontext/metadata.h"
#include "core/formats/megacontext/snapshot.h"

namespace ctxfs::megacontext {
namespace {

using SourcePtr = std::shared_ptr<const Source>;
using Listing = std::vector<DirectoryEntry>;

constexpr uint64_t kPayloadAt = ContextLevel::kPayloadAt;
constexpr const char* kMetadata = "metadata.json";
constexpr const char* kCheckpoints = "checkpoints";

/// Returns the level files in a directory, by level. Of several names of a
/// level, LOD1.ctx is before L1.ctx, the name in older documents.
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

bool HasName(const Listing& listing, std::string_view name, bool directory) {
  return std::ranges::any_of(listing, [&](const DirectoryEntry& entry) {
    return entry.name == name && entry.directory == directory;
  });
}

std::shared_ptr<const FileTable> WholeFile(Role role, std::string path,
                                           const SourcePtr& file) {
  return FixedFile(role, std::move(path),
                   Content(Range{file, 0, nullptr}, file->size()));
}

class MegaContext final : public Container, public SaysFacts {
 public:
  MegaContext(SourcePtr source, const OpenOptions& /*options*/)
      : Container(std::move(source)) {}

  /// Reads the headers of the levels. Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& /*context*/) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Tables Files() const override;
  std::vector<ChildContainer> Children() const override;
  Exports Export() const override;

 private:
  Status LoadFile(const Request& request);
  Status LoadTree(const ReadContext& context);
  Status LoadLevels(const Listing& listing, const Request& request);
  Result<Buffer> ReadMetadata(const Request& request);
  void LoadMetadata(const Listing& listing, const Request& request);
  Status FindSnapshots(const Listing& listing, const ReadContext& context);
  Json TreeJson() const;
  bool AnyIsSound() const {
    return std::ranges::any_of(
        levels_, [](const ContextLevel& level) { return !level.fault; });
  }
  /// Returns the bytes [offset, offset + length) of the level's payload.
  static Content Part(const ContextLevel& level, uint64_t offset,
                      uint64_t length);
  std::vector<ArrayInfo> Arrays() const;
  EntryInfo DescribePayload(uint32_t number) const;
  std::shared_ptr<const FileTable> PayloadFiles() const;
  std::shared_ptr<const FileTable> PartFiles(const ContextLevel& level) const;

  std::vector<ContextLevel> levels_;
  std::vector<std::string> names_;  // of the payloads, by level
  SourcePtr metadata_;              // null if there is none to open
  std::vector<std::string> snapshots_;
  const uint64_t owner_ = NewOwner();
};

Status MegaContext::Load(const ReadContext& context) {
  CTXFS_TRY(source()->is_directory() ? LoadTree(context) : LoadFile(context));
  for (const ContextLevel& level : levels_) {
    names_.push_back(level.Directory() + "/" + level.PayloadName());
    if (level.source != nullptr) AddStoredSize(level.source->stored_size());
  }
  return {};
}

Status MegaContext::LoadFile(const Request& request) {
  ContextLevel level = ReadContextLevel("", std::nullopt, source(), request);
  if (level.fault) return *std::move(level.fault);
  for (const std::string& text : level.warnings) Warn({text});
  levels_.push_back(std::move(level));
  return {};
}

Status MegaContext::LoadTree(const ReadContext& context) {
  const Listing listing = CTXFS_TRY(source()->List(context));
  CTXFS_TRY(LoadLevels(listing, context));
  for (std::string& text : CompareLevels(levels_)) Warn({std::move(text)});
  LoadMetadata(listing, context);
  return FindSnapshots(listing, context);
}

Status MegaContext::LoadLevels(const Listing& listing, const Request& request) {
  for (const auto& [number, files] : LevelFiles(listing)) {
    if (levels_.size() == kMaxLevels) {
      Warn({fmt::format("more than {} levels: the rest is not shown",
                        kMaxLevels)});
      break;
    }
    levels_.push_back(ReadContextLevel(
        files[0], number, source()->OpenBeside(files[0], request), request));
    // A failed read of the header is not damage, so it must make opening fail.
    // Otherwise the level would be missing until the next mount. A file that
    // cannot be opened is a fault of its level.
    const ContextLevel& level = levels_.back();
    if (level.source != nullptr && level.fault && !level.fault->Permanent()) {
      return *level.fault;
    }
    for (size_t i = 1; i < files.size(); ++i) {
      Warn({Quote(files[i]) + " is not shown, because " + files[0] +
            " is the same level"});
    }
  }
  if (levels_.empty()) {
    return Error{Code::kNotContainer,
                 "not a container: no level file (LOD0.ctx, LOD1.ctx, ...)"};
  }
  if (!AnyIsSound()) {
    return Within("no level can be read: " + levels_[0].file,
                  *levels_[0].fault);
  }
  for (const ContextLevel& level : levels_) {
    for (const std::string& text : level.warnings) Warn({text});
    if (level.fault) Warn({level.file + ": " + level.fault->Text()});
  }
  return {};
}

Result<Buffer> MegaContext::ReadMetadata(const Request& request) {
  metadata_ = CTXFS_TRY(source()->OpenBeside(kMetadata, request));
  const uint64_t size = metadata_->size();
  if (size > kMaxMetadataBytes) {
    return OverLimit(fmt::format("{} bytes are", size), kMaxMetadataBytes);
  }
  return ReadBuffer(*metadata_, 0, size, kMetadata, request);
}

void MegaContext::LoadMetadata(const Listing& listing, const Request& request) {
  std::optional<std::string> text;
  if (HasName(listing, kMetadata, /*directory=*/false)) {
    const Result<Buffer> bytes = ReadMetadata(request);
    if (!bytes) {
      return Warn({std::string(kMetadata) + ": " + bytes.error().Text()});
    }
    text = AsText(bytes->span());
  }
  for (std::string& warning : CompareMetadata(text, levels_, request)) {
    Warn({std::move(warning)});
  }
}

Status MegaContext::FindSnapshots(const Listing& listing,
                                  const ReadContext& context) {
  if (!HasName(listing, kCheckpoints, /*directory=*/true)) return {};
  const auto open = [&](const std::string& path) -> Result<Listing> {
    const SourcePtr directory =
        CTXFS_TRY(source()->OpenDirectoryBeside(path, context));
    return directory->List(context);
  };
  const Result<Listing> checkpoints = open(kCheckpoints);
  if (!checkpoints) {
    const std::string why = checkpoints.error().Text();
    Warn({std::string(kCheckpoints) + ": " + why});
    return {};
  }
  for (const DirectoryEntry& entry : *checkpoints) {
    CTXFS_TRY(context.Check());
    if (!entry.directory) continue;
    const Result<Listing> inside =
        open(std::string(kCheckpoints) + "/" + entry.name);
    if (!inside || LevelFiles(*inside).empty()) continue;
    if (snapshots_.size() == kMaxSnapshots) {
      Warn({fmt::format("more than {} snapshots: the rest is not shown",
                        kMaxSnapshots)});
      break;
    }
    snapshots_.push_back(entry.name);
  }
  return {};
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
          {"warnings", WarningTexts()}};
}

void MegaContext::AddInfo(Json& info, const ReadContext& /*context*/) const {
  uint64_t stored = 0;
  for (const ContextLevel& level : levels_) {
    if (level.source != nullptr) stored += level.source->size();
  }
  info.update({{"format", "megacontext"},
               {"version", 1},
               {"tree", source()->is_directory()},
               {"entries", levels_.size()},
               {"snapshots", snapshots_.size()},
               {"container_size", stored}});
}

Content MegaContext::Part(const ContextLevel& level, uint64_t offset,
                          uint64_t length) {
  return {Range{level.source, kPayloadAt + offset, nullptr}, length};
}

EntryInfo MegaContext::DescribePayload(uint32_t number) const {
  const ContextLevel& level = levels_[number];
  EntryInfo info;
  info.name = names_[number];
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

/// The entries: LOD0/tokens, LOD1/gists, ...
std::shared_ptr<const FileTable> MegaContext::PayloadFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kEntries, .shared = true},
       .count = static_cast<uint32_t>(levels_.size()),
       .path = [this](uint32_t level, std::string& /*scratch*/)
           -> std::string_view { return names_[level]; },
       .open = [this](uint32_t number,
                      const ReadContext& /*context*/) -> Result<Content> {
         const ContextLevel& level = levels_[number];
         if (level.fault) return *level.fault;
         return Part(level, 0, level.payload_size());
       },
       .facts =
           [this](uint32_t number) {
             const ContextLevel& level = levels_[number];
             return FileFacts{level.fault ? 0 : level.payload_size(),
                              level.fault};
           },
       .describe =
           [this](uint32_t level, const ReadContext& /*context*/) {
             return DescribePayload(level);
           },
       .owner = Share(*this)});
}

/// Returns the files of views/blocks, of views/gists/LOD1, or of the gists of
/// another level: the payload in numbered parts of equal size, except that the
/// last block may be shorter.
std::shared_ptr<const FileTable> MegaContext::PartFiles(
    const ContextLevel& level) const {
  const uint64_t size = level.vectors
                            ? level.entry_size
                            : level.header.block_size * level.entry_size;
  const uint64_t parts = level.vectors ? level.entries : level.Blocks();
  const auto size_of = [&level, size](uint32_t part) {
    return std::min(size, level.payload_size() - part * size);
  };
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = level.vectors ? "gists/" + level.Directory()
                                                : std::string("blocks"),
                     .numbering = Numbering()},
       .count =
           static_cast<uint32_t>(std::min<uint64_t>(parts, UINT32_MAX - 1)),
       .path = &NoPath,
       .open = [&level, size, size_of](
                   uint32_t part,
                   const ReadContext& /*context*/) -> Result<Content> {
         return Part(level, part * size, size_of(part));
       },
       .facts = [size_of](uint32_t part) { return FileFacts{size_of(part)}; },
       .owner = Share(*this)});
}

Container::Tables MegaContext::Files() const {
  const auto text = [this](Role role, std::string path, uint64_t number,
                           MakeText make) {
    // The cost counts the headers of levels, from which the text is rendered.
    // Load has read them.
    return TextDocument(role, std::move(path), {owner_, number}, source(),
                        std::move(make),
                        TextCost(levels_.size() * sizeof(ContextLevel)));
  };
  uint64_t number = 0;
  Tables files = {
      PayloadFiles(),
      text(Role::kPrimary, "tree.json", number++,
           [self = Share(*this)](const ReadContext& /*context*/) {
             return Result<std::string>(FormatJson(self->TreeJson()));
           })};
  if (metadata_ != nullptr) {
    files.push_back(WholeFile(Role::kPrimary, kMetadata, metadata_));
  }
  for (const ContextLevel& level : levels_) {
    files.push_back(
        text(Role::kRaw, level.Directory() + "/header.json", number++,
             [self = Share(*this),
              &level](const ReadContext& /*context*/) -> Result<std::string> {
               // After an I/O error the header is unknown, not absent.
               if (level.fault && !level.fault->Permanent())
                 return *level.fault;
               return FormatJson(level.HeaderJson());
             }));
    // Shows the level's file whole, too, because it has bytes outside the
    // payload.
    if (source()->is_directory() && level.source != nullptr) {
      files.push_back(
          WholeFile(Role::kMetadata, "files/" + level.file, level.source));
    }
    if (!level.fault && (level.vectors || level.header.block_size > 0)) {
      files.push_back(PartFiles(level));
    }
  }
  return files;
}

Status MegaContext::AddFacts(const ReadContext& context, Facts& facts) const {
  facts.Add("levels", levels_.size());
  facts.Add("snapshots", snapshots_.size());
  return AddArrays(*Entries(), context, facts);
}

Exports MegaContext::Export() const {
  Exports exports;
  if (!AnyIsSound()) return exports;
  exports.bundle_name = "tree";
  exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
    return self->Arrays();
  };
  if (metadata_ != nullptr) {
    exports.documents = {{DocumentRole::kDescription,
                          WholeFile(Role::kPrimary, kMetadata, metadata_)}};
  }
  return exports;
}

std::vector<ChildContainer> MegaContext::Children() const {
  std::vector<ChildContainer> containers;
  for (const std::string& name : snapshots_) {
    ChildContainer snapshot;
    snapshot.path = std::string(kCheckpoints) + "/" + name;
    snapshot.open_source =
        [tree = source(), path = snapshot.path](
            const ReadContext& context) -> Result<SourcePtr> {
      SourcePtr directory = CTXFS_TRY(tree->OpenDirectoryBeside(path, context));
      return SourcePtr(std::make_shared<const SnapshotSource>(
          tree, std::move(directory), path));
    };
    containers.push_back(std::move(snapshot));
  }
  return containers;
}

std::vector<ArrayInfo> MegaContext::Arrays() const {
  std::vector<ArrayInfo> arrays;
  for (size_t i = 0; i < levels_.size(); ++i) {
    const ContextLevel& level = levels_[i];
    if (level.fault) continue;
    arrays.push_back(
        {names_[i], level.dtype, level.Shape(),
         [self = Share(*this), &level](const ReadContext& /*context*/) {
           return Result<Content>(Part(level, 0, level.payload_size()));
         }});
  }
  return arrays;
}

bool Probe(Bytes head) {
  const std::string_view text = AsText(head);
  return text.starts_with("TCCM") || text.starts_with("MCCT");
}

bool ProbeDirectory(const Source& directory, const Request& request) {
  const Result<Listing> listing = directory.List(request);
  if (!listing) return false;
  for (const auto& [number, files] : LevelFiles(*listing)) {
    if (!ReadContextLevel(files[0], number,
                          directory.OpenBeside(files[0], request), request)
             .fault) {
      return true;
    }
  }
  return false;
}

/// Whether the directory has level files, readable or not, or metadata.json
/// alone, which writers create before the first level.
bool ResemblesDirectory(const Source& directory, const Request& request) {
  const Result<Listing> listing = directory.List(request);
  if (!listing) return false;
  return !LevelFiles(*listing).empty() ||
         (listing->size() == 1 && listing->front().name == kMetadata);
}

}  // namespace

}  // namespace ctxfs::megacontext

namespace ctxfs {

extern const Format kMegaContext{
    .name = "megacontext",
    .contents = "context trees and their levels",
    .extensions = "ctx",
    .text_extensions = "ctx",
    .golden = "megacontext",
    .docs = "megacontext",
    .probe = &megacontext::Probe,
    .open = &OpenAs<megacontext::MegaContext>,
    .probe_directory = &megacontext::ProbeDirectory,
    .resembles_directory = &megacontext::ResemblesDirectory};

}  // namespace ctxfs
