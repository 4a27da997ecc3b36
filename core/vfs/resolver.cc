// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/resolver.h"

#include "core/tree/free_names.h"

namespace ctxfs {
namespace {

constexpr std::string_view kOwnDirectory = ".ctxfs";

/// Returns a name for the mount's own directory at the root: a name that
/// `mirror` does not have.
std::string OwnName(Mirror& mirror) {
  return FreeNames().Find({.name = kOwnDirectory},
                          [&](const std::string& name) {
                            const Maybe<Mirror::Node> found =
                                mirror.Lookup(kRootInode, name, Request());
                            if (!found || !*found) return false;
                            mirror.Forget((*found)->inode, 1);
                            return true;
                          });
}

MountRules RulesOf(const Shown& shown) {
  return {shown.open, shown.work_limit, shown.list_mode,
          shown.mirror == nullptr ? FileTime() : shown.mirror->mtime(),
          shown.logs_damage};
}

/// The path below the root of a place's source.
std::string PathIn(const Resolver::Place& place) {
  if (place.tree == nullptr) return place.source->Path(place.node);
  return place.tree->files->Path(static_cast<NodeId>(place.node));
}

}  // namespace

Resolver::Resolver(Shown shown)
    : rules_(RulesOf(shown)),
      mirror_(MakeMirror(std::move(shown.mirror))),
      own_(MakeOwn(shown)),
      attached_(rules_, shown.budget, Opener(), shown.extras),
      renewal_(attached_, rules_.open) {
  if (mirror_ != nullptr) return;
  ContainerTree::Tables tables;
  if (shown.name.empty() && shown.stats != nullptr) {
    tables.push_back(shown.stats);
  }
  // The container's root has the inode of an own directory. Its other inodes
  // follow those of the own files.
  attached_.AttachTop(kRootInode + own_->container_node(),
                      kRootInode + own_->node_count() - 1, shown.container,
                      std::move(tables));
}

std::shared_ptr<const MirrorSource> Resolver::MakeMirror(
    std::unique_ptr<Mirror> mirror) {
  if (mirror == nullptr) return nullptr;
  return std::make_shared<const MirrorSource>(
      std::move(mirror), rules_,
      [this] { return attached_.CloseOldest().has_value(); });
}

std::shared_ptr<const OwnSource> Resolver::MakeOwn(const Shown& shown) const {
  if (mirror_ != nullptr) {
    const std::string name =
        shown.stats == nullptr ? "" : OwnName(mirror_->mirror());
    return std::make_shared<const OwnSource>(rules_, OwnSource::Names{"", name},
                                             shown.stats, nullptr);
  }
  const bool own = !shown.name.empty() && shown.stats != nullptr;
  return std::make_shared<const OwnSource>(
      rules_, OwnSource::Names{shown.name, own ? kOwnDirectory : ""},
      shown.stats, [this] { return Top(); });
}

MountedContainers::Open Resolver::Opener() const {
  return [this](const MountedContainers::Attachment& attachment,
                const ContainerSource* outer, const ReadContext& context) {
    return outer == nullptr ? mirror_->OpenContainer(attachment.at, context)
                            : outer->OpenNested(attachment.node, context);
  };
}

Resolver::Place Resolver::PlaceIn(MountedContainers::Tree tree, NodeId node) {
  const ContainerSource* const source = tree.get();
  return {std::move(tree), node, source};
}

// Inodes from 1 to 2^32 - 1 belong to the mount's root, then to its other own
// files, then to the nodes of the only container except its root. Larger inodes
// consist of the number of an attached tree and a node, unless the highest bit
// is set: then the file is mirrored.
InodeRef Resolver::Decode(Inode inode) const {
  using enum InodeRef::Kind;
  if (mirror_ != nullptr &&
      (inode == kRootInode || (inode & Mirror::kBit) != 0)) {
    return {.inode = inode, .kind = kMirrored, .node = inode};
  }
  const uint64_t index = inode - kRootInode;
  const bool top = mirror_ == nullptr && index == own_->container_node();
  if (top) return {.inode = inode, .kind = kTree};
  if (index < own_->node_count()) {
    return {.inode = inode, .kind = kOwn, .node = index};
  }
  const auto number = static_cast<MountedContainers::Number>(
      inode >> MountedContainers::kNodeBits);
  const uint64_t node = number == MountedContainers::kTop
                            ? index + 1 - own_->node_count()
                            : inode;
  return {.inode = inode,
          .kind = kTree,
          .number = number,
          .node = static_cast<NodeId>(node)};
}

Result<Resolver::Place> Resolver::Find(const InodeRef& inode,
                                       const ReadContext& context) const {
  switch (inode.kind) {
    case InodeRef::Kind::kMirrored:
      return Place{mirror_, inode.node};
    case InodeRef::Kind::kOwn:
      return Place{own_, inode.node};
    case InodeRef::Kind::kTree:
      break;
  }
  MountedContainers::Tree tree =
      CTXFS_TRY(attached_.Get(inode.number, context));
  return PlaceIn(std::move(tree), static_cast<NodeId>(inode.node));
}

Result<Resolver::Place> Resolver::FindFresh(const InodeRef& inode,
                                            const ReadContext& context) const {
  Result<Place> place =
      Renewing(inode, context, [&] { return Find(inode, context); });
  if (!place || place->source->CheckUnchanged() || !Renew(inode, context)) {
    return place;
  }
  return Find(inode, context);
}

Result<Resolver::Place> Resolver::FindDirectory(
    const InodeRef& inode, const ReadContext& context) const {
  if (!inode.mirrored() || inode.inode == kRootInode) {
    return Find(inode, context);
  }
  const Mirror::Found found =
      CTXFS_TRY(mirror_->mirror().Find(inode.inode, context));
  if (found.node.kind != Kind::kContainer) return Find(inode, context);
  Result<Place> root = RootOf({.at = inode.inode}, context);
  if (!root) RetireIfLost(inode);
  return root;
}

Result<Resolver::Place> Resolver::RootOf(
    const MountedContainers::Attachment& attachment,
    const ReadContext& context) const {
  MountedContainers::Tree tree =
      CTXFS_TRY(attached_.Get(attached_.Attach(attachment), context));
  return PlaceIn(std::move(tree), FileTree::kRoot);
}

Maybe<Resolver::Place> Resolver::AttachedTo(const Place& place,
                                            const ReadContext& context) const {
  // In a mirrored root, the mount's own files follow the mirrored files.
  if (place.source == mirror_ && place.node == kRootInode) {
    return std::optional(Place{own_, FileTree::kRoot});
  }
  if (place.tree == nullptr) return std::optional<Place>();
  const auto node = static_cast<NodeId>(place.node);
  const FileTree& files = *place.tree->files;
  const bool nested = files.ShowsContainer(node);
  if (!nested && files.Numbered(node) == nullptr) {
    return ViewsBeside(place, context);
  }
  Place root =
      CTXFS_TRY(RootOf({.at = place.tree->InodeOf(node),
                        .kind = nested ? MountedContainers::Kind::kNested
                                       : MountedContainers::Kind::kNumbered,
                        .within = place.tree->number,
                        .node = node},
                       context));
  return std::optional(std::move(root));
}

Maybe<Resolver::Place> Resolver::ViewsBeside(const Place& place,
                                             const ReadContext& context) const {
  if (!place.tree->IsWhole()) return std::optional<Place>();
  const ContainerTree& container_tree = *place.tree->container_tree;
  const auto node = static_cast<NodeId>(place.node);
  const std::optional<NodeId> views = container_tree.SharedViewsAbove(node);
  if (!views) return std::optional<Place>();
  std::vector<NodeId> nodes;  // from `place` up to `views`
  for (NodeId at = node; at != *views; at = container_tree.Parent(at)) {
    nodes.push_back(at);
  }
  Maybe<Place> found = AttachedTo({place.source, *views, place.tree}, context);
  for (auto at = nodes.rbegin(); found && *found && at != nodes.rend(); ++at) {
    Place& beside = **found;
    const FileTree& files = *beside.tree->files;
    const std::optional<NodeId> child = files.Lookup(
        static_cast<NodeId>(beside.node), container_tree.tree().Name(*at));
    if (!child || !files.IsDirectory(*child)) return std::optional<Place>();
    beside.node = *child;
    Maybe<Place> inside = AttachedTo(beside, context);
    if (!inside || *inside) found = std::move(inside);
  }
  return found;
}

Result<std::vector<Resolver::Place>> Resolver::Layers(
    const InodeRef& directory, bool fresh, const ReadContext& context) const {
  using Places = std::vector<Place>;
  return AtDirectory(
      directory, context, [&](const Place& first) -> Result<Places> {
        std::optional<Place> attached = CTXFS_TRY(AttachedTo(first, context));
        Places layers{first};
        if (attached) layers.push_back(std::move(*attached));
        if (!fresh) return layers;
        CTXFS_TRY(layers.back().source->CheckUnchanged());
        return layers;
      });
}

Renewal::Chain Resolver::ContainersOf(const InodeRef& inode) const {
  if (!inode.mirrored()) return attached_.Chain(inode.number);
  return attached_.Chain(
      attached_.NumberAt(inode.inode).value_or(MountedContainers::kTop));
}

bool Resolver::Renew(const InodeRef& inode, const ReadContext& context) const {
  if (inode.mirrored() && inode.inode != kRootInode &&
      !mirror_->mirror().Find(inode.inode, context)) {
    return false;
  }
  const Renewal::Chain chain = ContainersOf(inode);
  if (renewal_.Renew(chain, context)) return true;
  const auto outermost =
      chain.empty() ? std::nullopt : attached_.AttachmentOf(chain.front());
  if (outermost) RetireIfLost(Decode(outermost->at));
  return false;
}

void Resolver::RetireIfLost(const InodeRef& at) const {
  const auto number = attached_.NumberAt(at.inode);
  if (!at.mirrored() || !number || !attached_.IsLost(*number)) return;
  mirror_->mirror().Retire(at.inode);
}

Status Resolver::RenewFor(const InodeRef& inode, int attempt,
                          const ReadContext& context) const {
  if (attempt == 0) return {};
  if (attempt < Renewal::kMax && Renew(inode, context)) return {};
  if (attempt == Renewal::kMax) renewal_.GiveUp(ContainersOf(inode));
  CTXFS_TRY(context.Check());
  return Error{Code::kStale, "the container changed under the mount"};
}

void Resolver::Forget(const InodeRef& inode, uint64_t count) const {
  if (inode.mirrored() && mirror_->mirror().Forget(inode.inode, count)) {
    attached_.Detach(inode.inode);
  }
}

std::string Resolver::PathInFile(const InodeRef& inode,
                                 const ReadContext& context) const {
  const Result<Place> place = Find(inode, context);
  if (!place || inode.mirrored()) return "";
  const auto attachment = inode.number == MountedContainers::kTop
                              ? std::nullopt
                              : attached_.AttachmentOf(inode.number);
  const std::string path = PathIn(*place);
  if (!attachment) return path;
  const InodeRef directory = Decode(attachment->at);
  if (directory.mirrored()) return path;
  return PathInFile(directory, context) + "/" + path;
}

std::string Resolver::Path(const InodeRef& inode,
                           const ReadContext& context) const {
  const Result<Place> place = Find(inode, context);
  const std::string path = place ? PathIn(*place) : "";
  if (inode.number == MountedContainers::kTop) return path;
  const auto attachment = attached_.AttachmentOf(inode.number);
  if (!attachment) return path;
  const std::string directory = Path(Decode(attachment->at), context);
  return place ? directory + "/" + path : directory;
}

}  // namespace ctxfs
