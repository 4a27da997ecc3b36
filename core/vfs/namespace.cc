// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/namespace.h"

#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/container/unreadable.h"
#include "core/io/descriptors.h"
#include "core/io/directory.h"
#include "core/tree/free_names.h"
#include "core/vfs/log.h"
#include "core/vfs/open_container.h"

namespace ctxfs {
namespace {

constexpr std::string_view kOwnDirectory = ".ctxfs";
constexpr unsigned kNumberShift = 32;

using StatsTable = std::shared_ptr<const FileTable>;

/// The name of our directory at the root: one that `mirror` does not have.
std::string OwnName(Mirror& mirror) {
  return FreeNames().Find(
      {.name = kOwnDirectory}, [&](const std::string& name) {
        const Maybe<Mirror::Node> found = mirror.Lookup(Namespace::kRoot, name);
        if (!found || !*found) return false;
        mirror.Forget((*found)->inode, 1);
        return true;
      });
}

/// What a damaged container is shown as; an error that may pass stays one.
Result<std::shared_ptr<const Container>> Unreadable(
    std::shared_ptr<const Source> source, Error reason) {
  if (!reason.Permanent()) return reason;
  return UnreadableContainer(std::move(source), std::move(reason));
}

std::shared_ptr<const MountedTree> OwnTree(const MountFiles& own) {
  return std::make_shared<const MountedTree>(MountedTree{
      .files = &own, .at = Namespace::kRoot, .base = Namespace::kRoot});
}

}  // namespace

Namespace::Namespace(const std::shared_ptr<const Container>& container,
                     std::string_view name, const StatsTable& stats,
                     const OpenOptions& options,
                     const MountedContainers::Extras& extras,
                     const MountedContainers::Budget& budget)
    : options_(options),
      own_(name, name.empty() || stats == nullptr ? "" : kOwnDirectory, stats),
      own_tree_(OwnTree(own_)),
      attached_(budget, Opener(), extras) {
  ContainerTree::Tables own;
  if (name.empty() && stats != nullptr) own.push_back(stats);
  // Its root is one of our own directories, whose inodes its others follow.
  attached_.AttachTop(kRoot + own_.container_node(),
                      kRoot + own_.node_count() - 1, container, std::move(own));
}

Namespace::Namespace(std::unique_ptr<Mirror> mirror, const StatsTable& stats,
                     const OpenOptions& options,
                     const MountedContainers::Extras& extras,
                     const MountedContainers::Budget& budget)
    : options_(options),
      mirror_(std::move(mirror)),
      own_("", stats == nullptr ? "" : OwnName(*mirror_), stats),
      own_tree_(OwnTree(own_)),
      attached_(budget, Opener(), extras) {}

// Inodes below 2^32: 1 is the mount's root; then the rest of its own files;
// then the nodes of its only container but for the root. Above: the number of
// an attached tree, then the node's. With the highest bit: mirrored.
Result<Namespace::Place> Namespace::Find(Inode inode,
                                         const ReadContext& context) const {
  const auto number =
      static_cast<MountedContainers::Number>(inode >> kNumberShift);
  const uint64_t index = inode - kRoot;
  const bool top = mirror_ == nullptr && index == own_.container_node();
  if (number == MountedContainers::kTop && index < own_.node_count() && !top) {
    return Place{own_tree_, static_cast<NodeId>(index)};
  }
  Result<MountedContainers::Tree> tree = attached_.Get(number, context);
  if (!tree) return std::move(tree).error();
  const NodeId node = (*tree)->NodeOf(inode);
  return Place{std::move(*tree), node};
}

Result<Namespace::Place> Namespace::RootOf(
    const MountedContainers::Attachment& attachment,
    const ReadContext& context) const {
  Result<MountedContainers::Tree> tree =
      attached_.Get(attached_.Attach(attachment), context);
  if (!tree) return std::move(tree).error();
  return Place{std::move(*tree), FileTree::kRoot};
}

Result<Namespace::Directory> Namespace::Enter(
    Place place, const ReadContext& context) const {
  const bool nested = place.files().Hanging(place.node) != nullptr;
  if (!nested && place.files().Numbered(place.node) == nullptr) {
    Maybe<Place> views = ViewsBeside(place, context);
    if (!views) return std::move(views).error();
    if (!*views) return Directory{std::move(place), std::nullopt};
    return Directory{*std::move(*views), std::move(place)};
  }
  Result<Place> root =
      RootOf({.at = place.inode(),
              .kind = nested ? MountedContainers::Kind::kNested
                             : MountedContainers::Kind::kNumbered,
              .within = place.tree->number,
              .node = place.node},
             context);
  if (!root) return std::move(root).error();
  Directory directory{std::move(*root), std::nullopt};
  if (place.files().ChildCount(place.node) > 0) {
    directory.around = std::move(place);
  }
  return directory;
}

Maybe<Namespace::Place> Namespace::ViewsBeside(
    const Place& place, const ReadContext& context) const {
  const std::shared_ptr<const ContainerTree>& branch = place.tree->branch;
  if (branch == nullptr || place.tree->files != branch.get()) {
    return std::optional<Place>();
  }
  const std::optional<NodeId> views = branch->SharedViewsAbove(place.node);
  if (!views) return std::optional<Place>();
  std::vector<NodeId> nodes;  // from `place` up to `views`
  for (NodeId at = place.node; at != *views; at = branch->Parent(at)) {
    nodes.push_back(at);
  }
  Result<Directory> found = Enter(Place{place.tree, *views}, context);
  for (auto node = nodes.rbegin(); found && node != nodes.rend(); ++node) {
    Place at = std::move(found->inside);
    const std::optional<NodeId> child =
        at.files().Lookup(at.node, branch->tree().Name(*node));
    if (!child || !at.files().IsDirectory(*child)) {
      return std::optional<Place>();
    }
    at.node = *child;
    found = Enter(std::move(at), context);
  }
  if (!found) return std::move(found).error();
  return std::optional(std::move(found->inside));
}

Result<Namespace::Place> Namespace::EnterMirrored(
    Inode inode, const ReadContext& context) const {
  Result<Place> root = RootOf({.at = inode}, context);
  if (root) return root;
  const auto number = attached_.NumberAt(inode);
  if (number && attached_.IsLost(*number)) mirror_->Retire(inode);
  return root;
}

Maybe<Namespace::Place> Namespace::PlaceAt(Inode inode,
                                           const ReadContext& context) const {
  const bool mirrored = IsMirroredDirectory(inode);
  if (mirrored && inode == kRoot) return std::optional<Place>();
  if (mirrored) {
    const Result<Mirror::Found> found = mirror_->Find(inode);
    if (!found) return found.error();
    if (found->node.kind != Kind::kContainer) return std::optional<Place>();
  }
  Result<Place> place =
      mirrored ? EnterMirrored(inode, context) : Find(inode, context);
  if (!place) return std::move(place).error();
  return std::optional(std::move(*place));
}

Maybe<Namespace::Directory> Namespace::DirectoryAt(
    Inode inode, const ReadContext& context) const {
  Maybe<Place> place = PlaceAt(inode, context);
  if (!place) return std::move(place).error();
  if (!*place) return std::optional<Directory>();
  Result<Directory> entered = Enter(std::move(**place), context);
  if (!entered) return std::move(entered).error();
  return std::optional(std::move(*entered));
}

MountedContainers::Open Namespace::Opener() const {
  return [this](const MountedContainers::Attachment& attachment,
                const MountedTree* outer, const ReadContext& context) {
    return outer == nullptr ? OpenMirroredContainer(attachment.at, context)
                            : OpenNested(*outer, attachment.node, context);
  };
}

Result<std::shared_ptr<const Container>> Namespace::OpenMirroredContainer(
    Inode inode, const ReadContext& context) const {
  const Result<Mirror::Found> found = mirror_->Find(inode);
  if (!found) return found.error();
  SourceOptions options = options_.source_options();
  options.given = found->path;
  Result<std::shared_ptr<const Source>> source =
      OpenSource(found->fd.proc_path(), options);
  if (!source) return std::move(source).error();
  Work work = work_limit_.On((*source)->stored_size());
  const auto log = [&](const Error& error) {
    Log(LogLevel::kWarning,
        Quote(mirror_->PathOf(inode)) + ": " + error.Text());
  };
  Result<std::shared_ptr<const Container>> container =
      OpenRecorded(*source, options_, context.With(work), log);
  if (!container && container.error().code != Code::kInterrupted) {
    log(container.error());
  }
  return container;
}

Result<std::shared_ptr<const Container>> Namespace::OpenNested(
    const MountedTree& outer, NodeId node, const ReadContext& context) const {
  Work work = WorkOn(outer);
  const ReadContext bounded = context.With(work);
  const ChildContainer& nested = *outer.branch->Hanging(node);
  if (nested.open != nullptr) return nested.open(bounded);
  Result<std::shared_ptr<const Source>> source = nested.open_source(bounded);
  // One that cannot be reached is as unchanged as what it lies in.
  if (!source) {
    return Unreadable(std::make_shared<const SliceSource>(
                          outer.branch->container().source(), 0, 0),
                      std::move(source).error());
  }
  if (outer.depth >= limits::kContainerDepth) {
    return Unreadable(*source,
                      {Code::kLimit, "containers within containers end here"});
  }
  return OpenRecorded(*source, options_, bounded, [](const Error&) {});
}

Maybe<Namespace::Found> Namespace::LookupMirrored(Inode directory,
                                                  std::string_view name) const {
  const Maybe<Mirror::Node> node = mirror_->Lookup(directory, name);
  if (!node) return node.error();
  if (*node) return std::optional(Found{(*node)->inode, ExamineNode(**node)});
  if (directory != kRoot) return std::optional<Found>();
  const std::optional<NodeId> own = own_.Lookup(FileTree::kRoot, name);
  if (!own) return std::optional<Found>();
  return std::optional(Found{kRoot + *own, {true, false, 0, mirror_->mtime()}});
}

Maybe<Namespace::Found> Namespace::LookupIn(Place directory,
                                            std::string_view name,
                                            const ReadContext& context) const {
  Place place = std::move(directory);
  const std::optional<NodeId> node = place.files().Lookup(place.node, name);
  if (!node) return std::optional<Found>();
  place.node = *node;
  Work work = WorkOn(*place.tree);
  const ReadContext bounded = context.With(work);
  const Result<bool> exists =
      place.files().Exists(*node, Cost::kDecode, bounded);
  if (!exists) return exists.error();
  if (!*exists) return std::optional<Found>();
  const Result<Attributes> attributes = ExamineAt(place, bounded);
  if (!attributes) return attributes.error();
  return std::optional(Found{place.inode(), *attributes});
}

Maybe<Namespace::Found> Namespace::LookupOnce(
    Inode directory, std::string_view name, const ReadContext& context) const {
  Maybe<Place> place = PlaceAt(directory, context);
  if (!place) return std::move(place).error();
  if (!*place) return LookupMirrored(directory, name);
  // What is attached is not opened for what is beside it.
  Maybe<Found> found = LookupIn(**place, name, context);
  if (!found || *found) return found;
  Result<Directory> entered = Enter(**place, context);
  if (!entered) return std::move(entered).error();
  const Place& inside = entered->inside;
  if (inside.tree == (*place)->tree && inside.node == (*place)->node) {
    return found;
  }
  return LookupIn(inside, name, context);
}

void Namespace::Forget(Inode inode, uint64_t count) {
  if (IsMirrored(inode) && mirror_ != nullptr &&
      mirror_->Forget(inode, count)) {
    attached_.Detach(inode);
  }
}

Lifetime Namespace::NamesLast(Inode directory) const {
  return IsMirroredDirectory(directory) ? Lifetime::kMoment
                                        : Lifetime::kForever;
}

std::optional<Permissions> Namespace::PermissionsOf(const Place& place) const {
  std::shared_ptr<const MountedTree> tree = place.tree;
  if (tree == own_tree_) {
    // The mount's own files, but for the directory its container is in.
    if (mirror_ != nullptr || place.node != own_.container_node()) {
      return std::nullopt;
    }
    tree = Top();
  }
  // A container that no file is behind: for nobody, to be safe.
  if (!tree->readers) return Permissions{};
  const ReadAccess& readers = *tree->readers;
  const bool directory = place.files().IsDirectory(place.node);
  return Permissions{readers.uid, readers.gid,
                     readers.bits | (directory ? readers.bits >> 2 : 0)};
}

FileTime Namespace::MtimeOf(const MountedTree& tree) const {
  const bool own = &tree == own_tree_.get();
  const FileTime found = own && mirror_ == nullptr ? Top()->mtime : tree.mtime;
  return found == FileTime() && mirror_ != nullptr ? mirror_->mtime() : found;
}

Result<Attributes> Namespace::ExamineAt(const Place& place,
                                        const ReadContext& context) const {
  Attributes attributes;
  attributes.mtime = MtimeOf(*place.tree);
  attributes.permissions = PermissionsOf(place);
  attributes.directory = place.files().IsDirectory(place.node);
  if (attributes.directory) return attributes;
  const FileTree::File file = place.files().At(place.node);
  const Result<uint64_t> size = file.table->Size(file.number, context);
  // A document is as long as what it says, and what it says of a container
  // that cannot be read any more is wrong.
  if (file.table->size_cost(file.number) != Cost::kNone) {
    if (Status fresh = place.tree->CheckUnchanged(); !fresh) {
      return std::move(fresh).error();
    }
  }
  if (!size) return size.error();
  attributes.size = *size;
  attributes.locked = file.table->access(file.number) == Access::kLocked;
  if (file.table->live()) attributes.lifetime = Lifetime::kNone;
  return attributes;
}

Attributes Namespace::ExamineNode(const Mirror::Node& node) const {
  const bool file = node.kind == Kind::kFile;
  return {!file,
          false,
          file ? node.identity.size : 0,
          node.identity.mtime,
          Lifetime::kMoment,
          node.permissions};
}

Result<Attributes> Namespace::ExamineOnce(Inode inode,
                                          const ReadContext& context) const {
  if (IsMirroredDirectory(inode) && inode == kRoot) {
    return Attributes{true,
                      false,
                      0,
                      mirror_->mtime(),
                      Lifetime::kMoment,
                      mirror_->RootPermissions()};
  }
  if (IsMirrored(inode) && mirror_ != nullptr) {
    const Result<Mirror::Found> found = mirror_->Find(inode);
    if (!found) return found.error();
    return ExamineNode(found->node);
  }
  const Result<Place> place = Find(inode, context);
  if (!place) return place.error();
  Work work = WorkOn(*place->tree);
  return ExamineAt(*place, context.With(work));
}

Inode Namespace::Parent(Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode) && mirror_ != nullptr) return mirror_->Parent(inode);
  Result<Place> place = Find(inode, context);
  if (!place) return kRoot;
  if (place->tree->branch != nullptr &&
      place->tree->number == MountedContainers::kTop &&
      place->node == FileTree::kRoot) {
    return kRoot + own_.Parent(own_.container_node());
  }
  place->node = place->files().Parent(place->node);
  return place->inode();
}

Work Namespace::WorkOn(const MountedTree& tree) const {
  if (tree.branch == nullptr) return work_limit_.On(0);
  return work_limit_.On(tree.branch->container().StoredSize());
}

Result<std::shared_ptr<const FileSource>> Namespace::OpenMirroredSource(
    Inode inode) const {
  if (auto kept = mirror_->kept().Get(inode)) return kept;
  const Result<Mirror::Found> found = mirror_->Find(inode);
  if (!found) return found.error();
  // What nobody uses goes first.
  while (!Descriptors::HaveRoom(1) &&
         (mirror_->kept().DropAll() || attached_.CloseOldest())) {
  }
  if (!Descriptors::HaveRoom(1)) {
    return Error{Code::kTooManyFiles,
                 "not opened: " + std::to_string(Descriptors::held()) +
                     " files are open, which is all that the daemon's limit "
                     "on descriptors allows"};
  }
  Result<std::shared_ptr<const FileSource>> source =
      FileSource::Open(found->fd.proc_path(), options_.source_options());
  if (source) mirror_->kept().Keep(inode, *source);
  return source;
}

Result<Namespace::OpenFile> Namespace::OpenMirrored(Inode inode) const {
  const Result<std::shared_ptr<const FileSource>> source =
      OpenMirroredSource(inode);
  if (!source) return source.error();
  OpenFile file;
  file.source = *source;
  file.content.Append(Range{*source, 0, nullptr}, (*source)->size());
  file.lifetime = Lifetime::kMoment;
  file.same_pages = mirror_->WasOpenedAs(inode, (*source)->identity());
  return file;
}

Result<Namespace::OpenFile> Namespace::OpenOnce(
    Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode) && mirror_ != nullptr) return OpenMirrored(inode);
  Result<Place> place = Find(inode, context);
  if (!place) return std::move(place).error();
  const FileTree& files = place->files();
  const std::shared_ptr<const ContainerTree>& branch = place->tree->branch;
  Work work = WorkOn(*place->tree);
  Result<Content> content = files.Open(place->node, context.With(work));
  if (Status fresh = place->tree->CheckUnchanged(); !fresh) {
    return std::move(fresh).error();
  }
  if (!content) return std::move(content).error();
  OpenFile file{std::move(*content)};
  if (branch != nullptr) {
    file.pages = attached_.PagesOf(place->tree->number, place->node);
    file.same_pages = file.pages.good;
    file.stored_size = branch->container().StoredSize();
  }
  if (files.At(place->node).table->live()) {
    file.lifetime = Lifetime::kNone;
    file.same_pages = false;
  }
  if (const auto entry = place->tree->EntryAt(place->node)) {
    file.entries = branch->entries();
    file.entry = *entry;
  }
  file.tree = std::move(place->tree);
  return file;
}

}  // namespace ctxfs
