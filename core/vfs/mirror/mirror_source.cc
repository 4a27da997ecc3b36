// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/mirror_source.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <optional>
#include <utility>

#include "core/base/text/text.h"
#include "core/io/descriptors.h"
#include "core/vfs/containers/open_container.h"
#include "core/vfs/log.h"

namespace ctxfs {
namespace {

Attributes AttributesOf(const Mirror::Node& node) {
  const bool file = node.kind == Kind::kFile;
  return {!file,
          false,
          file ? node.identity.size : 0,
          node.identity.mtime,
          Lifetime::kMoment,
          node.permissions,
          node.link,
          file ? node.names : 1};
}

/// An open file's current identity; without a descriptor, that of its open.
FileIdentity IdentityNow(const Source& source) {
  struct stat st {};
  if (source.descriptor() < 0 || ::fstat(source.descriptor(), &st) != 0) {
    return source.identity();
  }
  return FileIdentity::Of(st);
}

OpenFile FileOf(SourcePtr source, bool live) {
  OpenFile file;
  file.live = live;
  file.content.Append(Range{source, 0, nullptr}, source->size());
  file.lifetime = Lifetime::kMoment;
  if (source->descriptor() >= 0) file.backing = source;
  file.made_from = std::move(source);
  return file;
}

}  // namespace

/// The names that a directory had when the reader began. Returns no attributes:
/// the kernel would cache them, and the files may change.
class MirrorSource::MirrorListing final : public Listing {
 public:
  MirrorListing(Mirror& mirror, Inode directory)
      : mirror_(mirror), directory_(directory) {}

  Status Rewind(const ReadContext& context) override {
    names_ = CTXFS_TRY(mirror_.List(directory_, context));
    return {};
  }

  uint64_t count() const override {
    return names_ == nullptr ? 0 : names_->count();
  }

  std::optional<Name> At(uint64_t index, bool /*attributes*/,
                         const ReadContext& /*context*/) const override {
    using Type = DirectorySnapshot::Type;
    const DirectorySnapshot::Name name = names_->At(index);
    Name shown{mirror_.InodeNow(directory_, name.name, name.inode),
               std::string(name.name), name.type == Type::kDirectory,
               name.type != Type::kUnknown};
    shown.link = name.type == Type::kLink;
    return shown;
  }

  bool immutable() const override { return false; }

 private:
  Mirror& mirror_;
  const Inode directory_;
  std::shared_ptr<const DirectorySnapshot> names_;  // null before Rewind
};

MirrorSource::MirrorSource(std::unique_ptr<Mirror> mirror,
                           const MountRules& rules,
                           std::function<bool()> make_room)
    : mirror_(std::move(mirror)),
      rules_(rules),
      make_room_(std::move(make_room)) {}

Maybe<FoundNode> MirrorSource::Lookup(Node directory, std::string_view name,
                                      const ReadContext& context) const {
  const std::optional<Mirror::Node> node =
      CTXFS_TRY(mirror_->Lookup(directory, name, context));
  if (!node) return std::optional<FoundNode>();
  return std::optional(FoundNode{node->inode, AttributesOf(*node)});
}

Result<Attributes> MirrorSource::Examine(Node node,
                                         const ReadContext& context) const {
  if (node == kRootInode) {
    return Attributes{true,
                      false,
                      0,
                      mirror_->mtime(),
                      Lifetime::kMoment,
                      mirror_->RootPermissions(context)};
  }
  Result<Mirror::Node> now = mirror_->Examine(node, context);
  if (!now && now.error().code == Code::kStale) {
    // The kernel may call getattr before it repeats an open
    // (Mirror::FindToOpen).
    const Mirror::FoundPtr found =
        CTXFS_TRY(mirror_->FindToOpen(node, context));
    now = found->node;
  }
  if (!now) return std::move(now).error();
  mirror_->NoteSize(node, now->identity.size);
  return AttributesOf(*now);
}

Result<SourcePtr> MirrorSource::OpenSourceOf(Inode inode,
                                             const Request& request) const {
  if (SourcePtr kept = mirror_->kept().Get(inode)) return kept;
  Result<Mirror::FoundPtr> found = mirror_->FindToOpen(inode, request);
  if (!found) {
    SourcePtr opened = mirror_->OpenedByKernel(inode);
    if (opened != nullptr) return opened;
    return std::move(found).error();
  }
  // Closes unused files, then unused containers.
  while (!Descriptors::HaveRoom(1) &&
         (mirror_->kept().DropAll() || make_room_())) {
  }
  if (!Descriptors::HaveRoom(1)) {
    return Error{Code::kTooManyFiles,
                 fmt::format("not opened: {} files are open, which is all that "
                             "the daemon's limit on descriptors allows",
                             Descriptors::held())};
  }
  Result<SourcePtr> source =
      mirror_->OpenFound(**found, rules_.open.source_options(), request);
  if (source) mirror_->kept().Keep(inode, *source);
  if (source && (*source)->descriptor() >= 0) {
    mirror_->NoteSource(inode, *source);
  }
  return source;
}

bool MirrorSource::IsLive(Inode inode, const Source& source,
                          const Request& request) const {
  if (source.descriptor() < 0) return false;
  const Result<bool> container =
      mirror_->HoldsContainer(inode, source, request);
  return container && !*container;
}

Result<std::string> MirrorSource::ReadLink(Node node,
                                           const ReadContext& context) const {
  Mirror::Found found = CTXFS_TRY(mirror_->Find(node, context));
  if (!found.node.link) return TreeSource::ReadLink(node, context);
  return std::move(found.item.link);
}

Result<OpenFile> MirrorSource::Open(Node file,
                                    const ReadContext& context) const {
  SourcePtr source = CTXFS_TRY(OpenSourceOf(file, context));
  const FileIdentity now = IdentityNow(*source);
  const bool live = IsLive(file, *source, context);
  OpenFile opened = FileOf(std::move(source), live);
  opened.same_pages = mirror_->WasOpenedAs(file, now);
  opened.same_size = mirror_->WasToldSize(file, now.size);
  return opened;
}

Maybe<OpenFile> MirrorSource::Reopen(const OpenFile& file) const {
  SourcePtr renewed = CTXFS_TRY(file.made_from->Renew());
  OpenFile opened = FileOf(std::move(renewed), /*live=*/false);
  opened.tree = file.tree;
  return std::optional(std::move(opened));
}

void MirrorSource::NoteOpened(Inode inode, const OpenFile& file) const {
  mirror_->NoteOpened(inode, file.made_from->identity());
}

std::unique_ptr<Listing> MirrorSource::List(Node directory) const {
  return std::make_unique<MirrorListing>(*mirror_, directory);
}

Result<std::shared_ptr<const Container>> MirrorSource::OpenContainer(
    Inode inode, const ReadContext& context) const {
  const Mirror::Found found = CTXFS_TRY(mirror_->Find(inode, context));
  const SourcePtr source = CTXFS_TRY(
      mirror_->OpenFound(found, rules_.open.source_options(), context));
  Work work = rules_.work_limit.On(source->stored_size());
  const auto log = [&](const Error& error) {
    if (!rules_.logs_damage) return;
    Log(LogLevel::kWarning,
        Quote(mirror_->PathOf(inode)) + ": " + error.Text());
  };
  Result<std::shared_ptr<const Container>> container =
      OpenRecorded(source, rules_.open, context.With(work), log);
  if (!container && container.error().code != Code::kInterrupted) {
    log(container.error());
  }
  return container;
}

}  // namespace ctxfs
