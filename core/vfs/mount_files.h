// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/tree/tree_files.h"

namespace ctxfs {

/// The mount's own files: `.ctxfs/stats` at the root, and the directory that
/// the mount's container hangs at, where it has one of its own.
class MountFiles final : public TreeFiles {
 public:
  /// `container` names the directory, empty for none; `own` is what `.ctxfs` is
  /// called, empty when the mount has no files of its own.
  MountFiles(std::string_view container, std::string_view own, OwnFile stats);

  /// Where the container hangs: the root, unless it has a directory.
  NodeId container_node() const { return container_; }
  uint32_t node_count() const { return tree_.node_count(); }

  Result<uint64_t> Size(NodeId file, const ReadContext& context) const override;
  bool SizeIsCheap(NodeId /*file*/) const override { return false; }
  bool IsLive(NodeId /*file*/) const override { return true; }
  Result<Content> Open(NodeId /*file*/,
                       const ReadContext& context) const override {
    return stats_.open(context);
  }

 private:
  OwnFile stats_;
  NodeId container_ = kRoot;
};

}  // namespace ctxfs
