// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/tree/files.h"
#include "core/tree/tree.h"

namespace ctxfs {

/// The mount's own files: `.ctxfs/stats` at the root, and the directory that
/// the mount's container hangs at, where it has one of its own.
class MountFiles final : public Files {
 public:
  /// `container` names the directory, empty for none; `own` is what `.ctxfs` is
  /// called, empty when the mount has no files of its own.
  MountFiles(std::string_view container, std::string_view own, OwnFile stats);

  /// Where the container hangs: the root, unless it has a directory.
  NodeId container_node() const { return container_; }
  uint32_t node_count() const { return tree_.node_count(); }

  bool IsDirectory(NodeId node) const override {
    return tree_.IsDirectory(node);
  }
  NodeId Parent(NodeId node) const override { return tree_.Parent(node); }
  std::string Path(NodeId node) const override { return tree_.Path(node); }
  std::optional<NodeId> Lookup(NodeId directory,
                               std::string_view name) const override {
    return tree_.Lookup(directory, name);
  }
  uint32_t ChildCount(NodeId directory) const override {
    return tree_.ChildCount(directory);
  }
  Child ChildAt(NodeId directory, uint32_t index) const override;
  Result<uint64_t> Size(NodeId file, BlockCache& cache) const override;
  bool SizeIsCheap(NodeId /*file*/) const override { return false; }
  bool IsLive(NodeId /*file*/) const override { return true; }
  Result<Content> Open(NodeId /*file*/, BlockCache& cache) const override {
    return stats_.open(cache);
  }

 private:
  OwnFile stats_;
  NodeId container_ = kRoot;
  Tree tree_;
};

}  // namespace ctxfs
