// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"
#include "core/tree/branch.h"
#include "core/tree/tree.h"

namespace ctxfs {

using Inode = uint64_t;

/// The mount's files by inode number. The container's tree is grafted onto a
/// small tree of the mount's own; containers within it are opened, and grafted
/// in turn, when someone first looks inside. A directory of numbered files is a
/// graft too, of which nothing is stored. An inode number is the number of
/// its graft (a hash of where it hangs; 0 for the mount itself) and a node's
/// index, so it is the same on every mount of the same container. What is
/// grafted stays; nothing else ever changes.
class Namespace {
 public:
  static constexpr Inode kRoot = 1;

  struct Child {
    Inode inode;
    std::string name;
    bool directory;
  };

  /// Shows the container in a directory `name` of the root, or at the root
  /// itself when `name` is empty. `stats` is the mount's own file; containers
  /// within are opened with `options`.
  Namespace(std::shared_ptr<const Container> container, std::string_view name,
            OwnFile stats, const OpenOptions& options = {});
  ~Namespace();

  bool IsDirectory(Inode inode) const;
  Inode Parent(Inode inode) const;
  std::optional<Inode> Lookup(Inode directory, std::string_view name) const;

  /// Children are numbered from 0, and keep their numbers.
  uint32_t ChildCount(Inode directory) const;
  Child ChildAt(Inode directory, uint32_t index) const;

  /// Whether what has a name is there; see Branch::Exists.
  Result<bool> Exists(Inode inode, bool listing, BlockCache& cache) const;

  /// Bytes of a file; see Branch::Size.
  Result<uint64_t> Size(Inode inode, BlockCache& cache) const;
  bool SizeIsCheap(Inode inode) const;
  /// Whether the file cannot be opened for want of a key.
  bool IsLocked(Inode inode) const;
  /// Whether the file's bytes may differ from one open to the next.
  bool IsLive(Inode inode) const;

  Result<Content> Open(Inode inode, BlockCache& cache) const;

  /// The entry of the mount's own container that a file is, or nothing.
  std::optional<uint32_t> Entry(Inode inode) const;

  /// What is known of a file, or nothing for a file of no interest.
  std::optional<EntryInfo> Describe(Inode inode) const;

  /// A file's path below its container's directory.
  std::string PathInContainer(Inode inode) const;

  /// The container that the mount is of.
  const Container& container() const { return top_.container(); }
  /// Sums over the mount's own container, without those within it.
  uint64_t TotalSize() const { return top_.TotalSize(); }
  uint64_t NodeCount() const;

 private:
  struct Graft;

  /// A node of the mount's own tree (`branch` null), of a branch, or of a
  /// directory of `numbered` files in it.
  struct Place {
    const Branch* branch;
    NodeId node;
    uint32_t graft;  // the number of what the node is of; 0 at the top
    const NumberedDirectory* numbered = nullptr;
  };
  Place Find(Inode inode) const;
  Inode InodeOf(Place place) const;
  const Tree& TreeAt(Place place) const;

  /// Where a directory's children are: a sub-container's root for the directory
  /// it hangs at, opened now if need be; else the directory itself.
  Place Enter(Place place) const;
  std::unique_ptr<Graft> OpenGraft(Place at) const;
  std::unique_ptr<Graft> MakeGraft(Place at) const;

  OwnFile stats_;
  OpenOptions options_;
  Branch top_;
  Tree own_;
  NodeId own_graft_ = Tree::kRoot;  // where the top branch hangs
  mutable Mutex mutex_;
  // Entries are never taken out: what is found may be used without the lock.
  mutable std::unordered_map<uint32_t, std::unique_ptr<Graft>> grafts_
      CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
