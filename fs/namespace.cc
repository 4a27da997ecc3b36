// SPDX-License-Identifier: Apache-2.0
#include "fs/namespace.h"

#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

constexpr std::string_view kOwnDirectory = ".ctxfs";

OwnFile FlatStats(OwnFile stats) {
  stats.path = std::string(kOwnDirectory) + "/" + stats.path;
  return stats;
}

}  // namespace

Namespace::Namespace(std::shared_ptr<const Container> container,
                     std::string_view name, OwnFile stats)
    : stats_(stats),
      branch_(std::move(container),
              name.empty() ? std::vector<OwnFile>{FlatStats(std::move(stats))}
                           : std::vector<OwnFile>{}) {
  TreeBuilder builder;
  if (!name.empty()) {
    graft_ = builder.MakeDirectory(Tree::kRoot, SafeComponent(name));
    const NodeId own = builder.MakeDirectory(
        Tree::kRoot, builder.FreeName(Tree::kRoot, kOwnDirectory));
    builder.AddFile(own, stats_.path, 0);
  }
  own_ = std::move(builder).Build();
}

// Inodes: 1 is the mount's root; then the rest of its own tree; then the
// branch's nodes but for its root, which is the graft.
Namespace::Place Namespace::Find(Inode inode) const {
  const uint64_t index = inode - kRoot;
  if (index < own_.node_count()) {
    const auto node = static_cast<NodeId>(index);
    if (node == graft_) return {true, Tree::kRoot};
    return {false, node};
  }
  return {true, static_cast<NodeId>(index - own_.node_count() + 1)};
}

Inode Namespace::InodeOf(Place place) const {
  if (!place.in_branch) return kRoot + place.node;
  if (place.node == Tree::kRoot) return kRoot + graft_;
  return kRoot + own_.node_count() + place.node - 1;
}

uint64_t Namespace::NodeCount() const {
  return uint64_t{own_.node_count()} + branch_.tree().node_count() - 1;
}

bool Namespace::IsDirectory(Inode inode) const {
  const Place place = Find(inode);
  return (place.in_branch ? branch_.tree() : own_).IsDirectory(place.node);
}

Inode Namespace::Parent(Inode inode) const {
  const Place place = Find(inode);
  if (place.in_branch && place.node != Tree::kRoot) {
    return InodeOf({true, branch_.tree().Parent(place.node)});
  }
  return InodeOf({false, own_.Parent(place.in_branch ? graft_ : place.node)});
}

std::optional<Inode> Namespace::Lookup(Inode directory,
                                       std::string_view name) const {
  const Place place = Find(directory);
  const Tree& tree = place.in_branch ? branch_.tree() : own_;
  const std::optional<NodeId> node = tree.Lookup(place.node, name);
  if (!node) return std::nullopt;
  return InodeOf({place.in_branch, *node});
}

uint32_t Namespace::ChildCount(Inode directory) const {
  const Place place = Find(directory);
  return (place.in_branch ? branch_.tree() : own_).ChildCount(place.node);
}

Namespace::Child Namespace::ChildAt(Inode directory, uint32_t index) const {
  const Place place = Find(directory);
  const Tree& tree = place.in_branch ? branch_.tree() : own_;
  const NodeId node = tree.Child(place.node, index);
  return {InodeOf({place.in_branch, node}), tree.Name(node),
          tree.IsDirectory(node)};
}

Result<uint64_t> Namespace::Size(Inode inode, BlockCache& cache) const {
  const Place place = Find(inode);
  if (place.in_branch) return branch_.Size(place.node, cache);
  Result<Content> content = stats_.open(cache);
  if (!content) return std::move(content).error();
  return content->size();
}

bool Namespace::SizeIsCheap(Inode inode) const {
  const Place place = Find(inode);
  return place.in_branch && branch_.SizeIsCheap(place.node);
}

bool Namespace::IsLive(Inode inode) const {
  const Place place = Find(inode);
  return place.in_branch ? branch_.IsLive(place.node)
                         : !own_.IsDirectory(place.node) && stats_.live;
}

Result<Content> Namespace::Open(Inode inode, BlockCache& cache) const {
  const Place place = Find(inode);
  if (!place.in_branch) return stats_.open(cache);
  if (Status fresh = container().source()->CheckUnchanged(); !fresh) {
    return std::move(fresh).error();
  }
  return branch_.Open(place.node, cache);
}

std::optional<uint32_t> Namespace::Entry(Inode inode) const {
  const Place place = Find(inode);
  if (!place.in_branch) return std::nullopt;
  return branch_.Entry(place.node);
}

std::string Namespace::PathInContainer(Inode inode) const {
  const Place place = Find(inode);
  return (place.in_branch ? branch_.tree() : own_).Path(place.node);
}

}  // namespace ctxfs
