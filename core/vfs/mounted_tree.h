// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/io/read_access.h"
#include "core/tree/container_tree.h"
#include "core/tree/file_tree.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

/// A tree of files and its place in the mount: the tree of a container, a
/// directory of numbered files in one, or the mount's own files. Immutable;
/// keeps alive everything that its files are made from.
struct MountedTree {
  const FileTree* files = nullptr;
  Inode at = 0;    // of the root: the directory that the tree is attached to
  Inode base = 0;  // node n, unless it is the root, has the inode base + n
  uint32_t number = 0;  // see MountedContainers
  unsigned depth = 0;   // how many containers the container is nested in
  /// Null: the mount's own files.
  std::shared_ptr<const ContainerTree> branch = nullptr;
  /// Whether it shows again what others show: it is `views`, or inside of it.
  bool is_view = false;
  uint64_t bytes = 0;  // of heap that opening the container took
  /// Of the file that stores the container, or the one that this is nested in.
  FileTime mtime = {};
  std::optional<ReadAccess> readers = std::nullopt;
  /// The tree that `at` is a node of; null if that is mirrored or the mount's.
  std::shared_ptr<const MountedTree> outer = nullptr;

  Inode InodeOf(NodeId node) const {
    return node == FileTree::kRoot ? at : base + node;
  }
  NodeId NodeOf(Inode inode) const {
    return inode == at ? FileTree::kRoot : static_cast<NodeId>(inode - base);
  }
  /// Whether it is a container as a format knows it, with a `.ctxfs` of its
  /// own: not the views of one, and not numbered files.
  bool IsContainer() const {
    return branch != nullptr && files == branch.get() &&
           !branch->container().is_part();
  }
  /// kStale once the source of the container has changed: what was made of it
  /// meanwhile may lack what could no longer be read.
  Status CheckUnchanged() const {
    if (branch == nullptr) return {};
    return branch->container().source()->CheckUnchanged();
  }
  /// The entry of `branch` that `node` is, if it is one.
  std::optional<uint32_t> EntryAt(NodeId node) const {
    if (branch == nullptr || files != branch.get()) return std::nullopt;
    return branch->Entry(node);
  }
};

}  // namespace ctxfs
