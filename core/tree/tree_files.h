// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/tree/file_tree.h"
#include "core/tree/name_tree.h"

namespace ctxfs {

/// A FileTree whose names are in a NameTree, which the derived class builds.
class TreeFiles : public FileTree {
 public:
  const NameTree& tree() const { return tree_; }

  bool IsDirectory(NodeId node) const final { return tree_.IsDirectory(node); }
  NodeId Parent(NodeId node) const final { return tree_.Parent(node); }
  std::string Path(NodeId node) const final { return tree_.Path(node); }
  std::optional<NodeId> Lookup(NodeId directory,
                               std::string_view name) const final {
    return tree_.Lookup(directory, name);
  }
  uint32_t ChildCount(NodeId directory) const final {
    return tree_.ChildCount(directory);
  }
  Child ChildAt(NodeId directory, uint32_t index) const final {
    const NodeId node = tree_.Child(directory, index);
    return {node, std::string(tree_.Name(node)), tree_.IsDirectory(node)};
  }

 protected:
  NameTree tree_;
};

}  // namespace ctxfs
