// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/vfs/containers/mounted_containers.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// A decoded inode. Resolver::Decode makes one where a request enters; all
/// later steps take it instead of the number.
struct InodeRef {
  enum class Kind : uint8_t {
    kMirrored,  // a file or directory of the Mirror; its root is the mount's
    kOwn,       // one of the mount's own files
    kTree,      // a node of an attached tree
  };

  bool mirrored() const { return kind == Kind::kMirrored; }

  Inode inode = kRootInode;
  Kind kind = Kind::kMirrored;
  MountedContainers::Number number = MountedContainers::kTop;  // of the tree
  TreeSource::Node node = FileTree::kRoot;                     // of its source
};

}  // namespace ctxfs
