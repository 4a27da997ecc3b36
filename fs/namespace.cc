// SPDX-License-Identifier: Apache-2.0
#include "fs/namespace.h"

#include <xxhash.h>

#include "core/base/limits.h"
#include "core/container/unreadable.h"
#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

constexpr std::string_view kOwnDirectory = ".ctxfs";
constexpr unsigned kGraftShift = 32;

OwnFile FlatStats(OwnFile stats) {
  stats.path = std::string(kOwnDirectory) + "/" + stats.path;
  return stats;
}

}  // namespace

/// What hangs at a directory: a container within the container, or the numbered
/// files of the branch that the directory is of.
struct Namespace::Graft {
  Graft(std::shared_ptr<const Container> container, Inode hangs_at,
        unsigned how_deep)
      : opened(std::in_place, std::move(container)),
        branch(&*opened),
        at(hangs_at),
        depth(how_deep) {}
  Graft(const Branch* of, const NumberedDirectory* files, Inode hangs_at)
      : branch(of), numbered(files), at(hangs_at) {}

  std::optional<Branch> opened;
  const Branch* branch;
  const NumberedDirectory* numbered = nullptr;
  Inode at;
  unsigned depth = 0;  // containers only: how many it lies within
};

Namespace::Namespace(std::shared_ptr<const Container> container,
                     std::string_view name, OwnFile stats,
                     const OpenOptions& options)
    : stats_(stats),
      options_(options),
      top_(std::move(container),
           name.empty() ? std::vector<OwnFile>{FlatStats(std::move(stats))}
                        : std::vector<OwnFile>{}) {
  TreeBuilder builder;
  if (!name.empty()) {
    own_graft_ = builder.MakeDirectory(Tree::kRoot, SafeComponent(name));
    const NodeId own = builder.MakeDirectory(
        Tree::kRoot, builder.FreeName(Tree::kRoot, kOwnDirectory));
    builder.AddFile(own, stats_.path, 0);
  }
  own_ = std::move(builder).Build();
}

Namespace::~Namespace() = default;

// Below the first 2^32 inodes: 1 is the mount's root; then the rest of its own
// tree; then the top branch's nodes but for its root, which is the directory it
// hangs at. Above: the graft's number, then the node's.
Namespace::Place Namespace::Find(Inode inode) const {
  const auto number = static_cast<uint32_t>(inode >> kGraftShift);
  if (number != 0) {
    const MutexLock lock(mutex_);
    const Graft& graft = *grafts_.at(number);
    return {graft.branch, static_cast<NodeId>(inode), number, graft.numbered};
  }
  const uint64_t index = inode - kRoot;
  if (index < own_.node_count()) {
    const auto node = static_cast<NodeId>(index);
    if (node == own_graft_) return {&top_, Tree::kRoot, 0};
    return {nullptr, node, 0};
  }
  return {&top_, static_cast<NodeId>(index - own_.node_count() + 1), 0};
}

Inode Namespace::InodeOf(Place place) const {
  if (place.graft != 0 && place.node == Tree::kRoot) {
    const MutexLock lock(mutex_);
    return grafts_.at(place.graft)->at;
  }
  if (place.graft != 0) {
    return Inode{place.graft} << kGraftShift | place.node;
  }
  if (place.branch == nullptr) return kRoot + place.node;
  if (place.node == Tree::kRoot) return kRoot + own_graft_;
  return kRoot + own_.node_count() + place.node - 1;
}

const Tree& Namespace::TreeAt(Place place) const {
  return place.branch == nullptr ? own_ : place.branch->tree();
}

uint64_t Namespace::NodeCount() const {
  uint64_t count = uint64_t{own_.node_count()} + top_.tree().node_count() - 1;
  for (const NumberedFiles& files : top_.numbered()) count += files.count;
  return count;
}

std::unique_ptr<Namespace::Graft> Namespace::OpenGraft(Place at) const {
  unsigned depth = 1;
  if (at.graft != 0) {
    const MutexLock lock(mutex_);
    depth = grafts_.at(at.graft)->depth + 1;
  }
  const auto open = [&]() -> std::shared_ptr<const Container> {
    const uint32_t index = *at.branch->Graft(at.node);
    Result<std::shared_ptr<const Source>> source =
        at.branch->sub_containers()[index].open_source();
    if (!source) {
      return UnreadableContainer(nullptr, std::move(source).error());
    }
    if (depth > limits::kContainerDepth) {
      return UnreadableContainer(
          *source, {Code::kLimit, "containers within containers end here"});
    }
    Result<std::shared_ptr<const Container>> container =
        OpenContainer(*source, options_);
    if (!container) {
      return UnreadableContainer(*source, std::move(container).error());
    }
    return *container;
  };
  return std::make_unique<Graft>(open(), InodeOf(at), depth);
}

std::unique_ptr<Namespace::Graft> Namespace::MakeGraft(Place at) const {
  const NumberedDirectory* numbered = at.branch->Numbered(at.node);
  if (numbered == nullptr) return OpenGraft(at);
  return std::make_unique<Graft>(at.branch, numbered, InodeOf(at));
}

Namespace::Place Namespace::Enter(Place place) const {
  if (place.branch == nullptr || place.numbered != nullptr ||
      (!place.branch->Graft(place.node) &&
       place.branch->Numbered(place.node) == nullptr)) {
    return place;
  }
  const Inode at = InodeOf(place);
  auto number = static_cast<uint32_t>(XXH3_64bits(&at, sizeof(at)));
  std::unique_ptr<Graft> opened;
  while (true) {
    {
      const MutexLock lock(mutex_);
      auto found = grafts_.find(number);
      if (number != 0 && found == grafts_.end() && opened != nullptr) {
        found = grafts_.emplace(number, std::move(opened)).first;
      }
      if (found != grafts_.end()) {
        if (found->second->at == at) {
          return {found->second->branch, Tree::kRoot, number,
                  found->second->numbered};
        }
        ++number;  // another's: one in four billion
        continue;
      }
    }
    if (number == 0) {
      ++number;
    } else {
      opened = MakeGraft(place);  // without the lock; the first to come wins
    }
  }
}

bool Namespace::IsDirectory(Inode inode) const {
  const Place place = Find(inode);
  if (place.numbered != nullptr) return place.node == Tree::kRoot;
  return TreeAt(place).IsDirectory(place.node);
}

Inode Namespace::Parent(Inode inode) const {
  const Place place = Find(inode);
  if (place.branch == &top_ && place.node == Tree::kRoot) {
    return InodeOf({nullptr, own_.Parent(own_graft_), 0});
  }
  if (place.numbered != nullptr) {
    return InodeOf({place.branch, Tree::kRoot, place.graft, place.numbered});
  }
  return InodeOf({place.branch, TreeAt(place).Parent(place.node), place.graft});
}

// Members of a container may lie below another that is a container itself: its
// directory shows them first, then what it holds.
std::optional<Inode> Namespace::Lookup(Inode directory,
                                       std::string_view name) const {
  const Place outside = Find(directory);
  const Place place = Enter(outside);
  if (place.graft != outside.graft) {
    if (const auto node = TreeAt(outside).Lookup(outside.node, name)) {
      return InodeOf({outside.branch, *node, outside.graft});
    }
  }
  if (place.numbered != nullptr) {
    const std::optional<uint32_t> file = place.numbered->Lookup(name);
    if (!file) return std::nullopt;
    return InodeOf({place.branch, NumberedDirectory::NodeOf(*file), place.graft,
                    place.numbered});
  }
  const std::optional<NodeId> node = TreeAt(place).Lookup(place.node, name);
  if (!node) return std::nullopt;
  return InodeOf({place.branch, *node, place.graft});
}

uint32_t Namespace::ChildCount(Inode directory) const {
  const Place outside = Find(directory);
  const Place place = Enter(outside);
  if (place.numbered != nullptr) return place.numbered->count();
  const uint32_t below = place.graft != outside.graft
                             ? TreeAt(outside).ChildCount(outside.node)
                             : 0;
  return below + TreeAt(place).ChildCount(place.node);
}

Namespace::Child Namespace::ChildAt(Inode directory, uint32_t index) const {
  const Place outside = Find(directory);
  Place place = Enter(outside);
  if (place.numbered != nullptr) {
    return {InodeOf({place.branch, NumberedDirectory::NodeOf(index),
                     place.graft, place.numbered}),
            place.numbered->Name(index), false};
  }
  if (place.graft != outside.graft) {
    const uint32_t below = TreeAt(outside).ChildCount(outside.node);
    if (index < below) {
      place = outside;
    } else {
      index -= below;
    }
  }
  const Tree& tree = TreeAt(place);
  const NodeId node = tree.Child(place.node, index);
  return {InodeOf({place.branch, node, place.graft}),
          std::string(tree.Name(node)), tree.IsDirectory(node)};
}

Result<bool> Namespace::Exists(Inode inode, bool listing,
                               BlockCache& cache) const {
  const Place place = Find(inode);
  if (place.branch == nullptr || place.numbered != nullptr) return true;
  const Tree& tree = TreeAt(place);
  if (place.graft != 0 && tree.Parent(place.node) == Tree::kRoot) {
    // A member below this container that has the name has it alone.
    const Place outside =
        Find(InodeOf({place.branch, Tree::kRoot, place.graft}));
    if (TreeAt(outside).Lookup(outside.node, tree.Name(place.node))) {
      return false;
    }
  }
  return place.branch->Exists(place.node, listing, cache);
}

Result<uint64_t> Namespace::Size(Inode inode, BlockCache& cache) const {
  const Place place = Find(inode);
  if (place.numbered != nullptr) {
    return place.numbered->Size(NumberedDirectory::FileAt(place.node), cache);
  }
  if (place.branch != nullptr) return place.branch->Size(place.node, cache);
  Result<Content> content = stats_.open(cache);
  if (!content) return std::move(content).error();
  return content->size();
}

bool Namespace::SizeIsCheap(Inode inode) const {
  const Place place = Find(inode);
  if (place.numbered != nullptr) return place.numbered->SizeIsCheap();
  return place.branch != nullptr && place.branch->SizeIsCheap(place.node);
}

bool Namespace::IsLocked(Inode inode) const {
  const Place place = Find(inode);
  if (place.numbered != nullptr) return false;
  return place.branch != nullptr && place.branch->IsLocked(place.node);
}

bool Namespace::IsLive(Inode inode) const {
  const Place place = Find(inode);
  if (place.numbered != nullptr) return false;
  return place.branch != nullptr ? place.branch->IsLive(place.node)
                                 : !own_.IsDirectory(place.node) && stats_.live;
}

Result<Content> Namespace::Open(Inode inode, BlockCache& cache) const {
  const Place place = Find(inode);
  if (place.branch == nullptr) return stats_.open(cache);
  const Container& container = place.branch->container();
  if (Status fresh = container.source()->CheckUnchanged(); !fresh) {
    return std::move(fresh).error();
  }
  if (place.numbered != nullptr) {
    return place.numbered->Open(NumberedDirectory::FileAt(place.node), cache);
  }
  return place.branch->Open(place.node, cache);
}

std::optional<uint32_t> Namespace::Entry(Inode inode) const {
  const Place place = Find(inode);
  if (place.branch != &top_ || place.numbered != nullptr) return std::nullopt;
  return top_.Entry(place.node);
}

std::optional<EntryInfo> Namespace::Describe(Inode inode) const {
  const Place place = Find(inode);
  if (place.branch == nullptr) return std::nullopt;
  if (place.numbered != nullptr) {
    return place.numbered->Describe(NumberedDirectory::FileAt(place.node));
  }
  return place.branch->Describe(place.node);
}

std::string Namespace::PathInContainer(Inode inode) const {
  const Place place = Find(inode);
  if (place.numbered != nullptr) {
    return PathInContainer(Parent(inode)) + "/" +
           place.numbered->Name(NumberedDirectory::FileAt(place.node));
  }
  return TreeAt(place).Path(place.node);
}

}  // namespace ctxfs
