// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "core/container/file_table.h"
#include "core/tree/file_tree.h"

namespace ctxfs {

/// The mount's own files: `.ctxfs/stats` at the root, and the directory that
/// the mount's container hangs at, where it has one of its own.
class MountFiles final : public TreeFiles {
 public:
  /// `container` names the directory, empty for none; `own` is what `.ctxfs` is
  /// called, empty if the mount has no files of its own; `stats` is then the
  /// table of one file.
  MountFiles(std::string_view container, std::string_view own,
             std::shared_ptr<const FileTable> stats);

  /// Where the container hangs: the root, unless it has a directory.
  NodeId container_node() const { return container_; }
  uint32_t node_count() const { return tree_.node_count(); }

  File At(NodeId /*file*/) const override { return {stats_.get(), 0}; }
  std::optional<Role> Aside(NodeId directory) const override {
    if (directory == own_) return Role::kMetadata;
    return std::nullopt;
  }

 private:
  const std::shared_ptr<const FileTable> stats_;
  NodeId container_ = kRoot;
  std::optional<NodeId> own_;
};

}  // namespace ctxfs
