// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "core/container/file_table.h"
#include "core/tree/file_tree.h"
#include "core/vfs/containers/container_source.h"

namespace ctxfs {

/// The mount's own files: `.ctxfs/stats` at the root, and the directory in
/// which the mount's only container is shown, if it has one of its own.
class OwnSource final : public FileTreeSource {
 public:
  /// Returns the mount's only container, as it is open at present.
  using Top = std::function<std::shared_ptr<const ContainerSource>()>;

  struct Names {
    std::string_view container;  // name of its directory; empty for none
    std::string_view own;        // name of `.ctxfs`; empty for no own files
  };

  /// `stats` is the table of one file if there are own files. `top` is null
  /// unless the mount shows a single container.
  OwnSource(const MountRules& rules, const Names& names,
            std::shared_ptr<const FileTable> stats, Top top);

  /// The directory of the container: the root, unless it has its own.
  NodeId container_node() const { return tree_.container; }
  uint32_t node_count() const { return tree_.tree().node_count(); }

 private:
  struct Tree final : TreeFiles {
    Tree(const Names& names, std::shared_ptr<const FileTable> table);

    File At(NodeId /*file*/) const override { return {stats.get(), 0}; }
    std::optional<NodeId> Aside(Role role) const override {
      return role == Role::kMetadata ? own : std::nullopt;
    }

    const std::shared_ptr<const FileTable> stats;
    NodeId container = kRoot;
    std::optional<NodeId> own;
  };

  FileTime Mtime() const override;
  std::optional<Permissions> PermissionsOf(NodeId node) const override;
  uint32_t LinkCount(NodeId directory,
                     const ReadContext& context) const override;

  const Tree tree_;
  const Top top_;
};

}  // namespace ctxfs
