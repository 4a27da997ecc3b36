// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/tree/file_tree.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// A FileTree at its place in the mount. A node is a node of that tree.
class FileTreeSource : public TreeSource {
 public:
  Maybe<FoundNode> Lookup(Node directory, std::string_view name,
                          const ReadContext& context) const override;
  Result<OpenFile> Open(Node file, const ReadContext& context) const override;
  std::unique_ptr<Listing> List(Node directory) const override;
  Result<Attributes> Examine(Node node,
                             const ReadContext& context) const override;
  std::optional<EntryInfo> Describe(Node node,
                                    const ReadContext& context) const override;
  Inode Parent(Node node) const override;
  std::string Path(Node node) const override;
  Cost SizeCost(Node node) const override;
  Result<std::string> ReadLink(Node node,
                               const ReadContext& context) const override;

  NodeId NodeOf(Inode inode) const {
    return inode == at ? FileTree::kRoot : static_cast<NodeId>(inode - base);
  }
  Inode InodeOf(NodeId node) const {
    return node == FileTree::kRoot ? at : base + files->FirstName(node);
  }

  /// The hard links of a directory: its name, its ".", and the ".." of each
  /// listed sub-directory; 1 if they are not counted.
  virtual uint32_t LinkCount(NodeId directory,
                             const ReadContext& context) const;

  const FileTree* files = nullptr;
  Inode at = 0;  // of the root: the directory to which the tree is attached
  /// Node n, unless it is the root, has the inode base + n; all hard links of a
  /// file have the inode of the first.
  Inode base = 0;

 protected:
  explicit FileTreeSource(const MountRules& rules)
      : rules_(rules),
        list_views_(rules.list_mode != ListMode::kPrimary),
        list_metadata_(rules.list_mode == ListMode::kAll) {}

  virtual FileTime Mtime() const = 0;
  /// nullopt for the mount's own files.
  virtual std::optional<Permissions> PermissionsOf(NodeId node) const = 0;
  /// Container::StoredSize of the container of the files.
  virtual uint64_t stored_size() const { return 0; }

  const MountRules& rules() const { return rules_; }
  /// How much work one request may cause.
  Work AllowedWork() const { return rules_.work_limit.On(stored_size()); }

 private:
  class TreeListing;

  /// Like Examine, with a context that already bounds the work of the request.
  Result<Attributes> ExamineWithin(NodeId node,
                                   const ReadContext& context) const;
  Status ExamineFile(NodeId node, const ReadContext& context,
                     Attributes& attributes) const;
  /// Whether a node exists, as far as small reads show. A node that cannot be
  /// examined counts as existing; a look-up returns the error.
  bool Exists(NodeId node, const ReadContext& context) const;
  /// Whether a listing shows a node.
  bool IsListed(NodeId node) const {
    return (list_views_ || node != files->Aside(Role::kViews)) &&
           (list_metadata_ || node != files->Aside(Role::kMetadata));
  }

  const MountRules& rules_;
  const bool list_views_;
  const bool list_metadata_;
};

}  // namespace ctxfs
