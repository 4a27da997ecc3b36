// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/container/container.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"
#include "core/tree/branch.h"
#include "core/tree/tree.h"

namespace ctxfs {

using Inode = uint64_t;

/// The mount's files by inode number: a small tree of the mount's own, onto
/// one of whose directories the container's tree is grafted. Inode numbers
/// follow from the container alone, so they are the same on every mount.
/// Immutable.
class Namespace {
 public:
  static constexpr Inode kRoot = 1;

  struct Child {
    Inode inode;
    std::string_view name;
    bool directory;
  };

  /// Shows the container in a directory `name` of the root, or at the root
  /// itself when `name` is empty. `stats` is the mount's own file.
  Namespace(std::shared_ptr<const Container> container, std::string_view name,
            OwnFile stats);

  bool IsDirectory(Inode inode) const;
  Inode Parent(Inode inode) const;
  std::optional<Inode> Lookup(Inode directory, std::string_view name) const;

  /// Children are numbered from 0, and keep their numbers.
  uint32_t ChildCount(Inode directory) const;
  Child ChildAt(Inode directory, uint32_t index) const;

  /// Bytes of a file; see Branch::Size.
  Result<uint64_t> Size(Inode inode, BlockCache& cache) const;
  bool SizeIsCheap(Inode inode) const;
  /// Whether the file's bytes may differ from one open to the next.
  bool IsLive(Inode inode) const;

  Result<Content> Open(Inode inode, BlockCache& cache) const;

  /// The entry that a file is, or nothing.
  std::optional<uint32_t> Entry(Inode inode) const;

  /// A file's path below its container's directory.
  std::string PathInContainer(Inode inode) const;

  const Container& container() const { return branch_.container(); }
  uint64_t TotalSize() const { return branch_.TotalSize(); }
  uint64_t NodeCount() const;

 private:
  /// A node of the mount's own tree (`in_branch` false) or of the branch. The
  /// graft is only ever seen as the branch's root.
  struct Place {
    bool in_branch;
    NodeId node;
  };
  Place Find(Inode inode) const;
  Inode InodeOf(Place place) const;

  OwnFile stats_;
  Branch branch_;
  Tree own_;
  NodeId graft_ = Tree::kRoot;
};

}  // namespace ctxfs
