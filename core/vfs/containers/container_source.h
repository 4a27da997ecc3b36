// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/io/read_access.h"
#include "core/tree/container_tree.h"
#include "core/vfs/file_tree_source.h"

namespace ctxfs {

/// The tree of a container, or a directory of numbered files in one. Immutable
/// once MountedContainers has made it; keeps alive everything that its files
/// are made from.
class ContainerSource final : public FileTreeSource {
 public:
  explicit ContainerSource(const MountRules& rules) : FileTreeSource(rules) {}

  Result<OpenFile> Open(Node file, const ReadContext& context) const override;
  std::optional<EntryInfo> Describe(Node node,
                                    const ReadContext& context) const override;
  std::string Path(Node node) const override;
  Status CheckUnchanged() const override;
  void NoteOpened(Inode inode, const OpenFile& file) const override;
  void NoteFailure(Node node, const Error& error) const override;
  uint32_t LinkCount(NodeId directory,
                     const ReadContext& context) const override;

  /// The owner and permissions of the root.
  std::optional<Permissions> RootPermissions() const {
    return PermissionsOf(FileTree::kRoot);
  }
  FileTime Mtime() const override;

  /// Whether this is a container of a format, with a `.ctxfs` of its own:
  /// neither the views of a container nor its numbered files.
  bool IsContainer() const {
    return IsWhole() && !container_tree->container().is_part();
  }
  /// Whether this is all of `container_tree`, not the numbered files in it.
  bool IsWhole() const { return files == container_tree.get(); }

  /// Makes this the directory of numbered files at `node` of container_tree,
  /// and finds their names.
  Status ShowNumbered(NodeId node, const ReadContext& context);

  /// Opens or reopens the container that is nested at `node`. A damaged
  /// container opens as an unreadable one.
  Result<std::shared_ptr<const Container>> OpenNested(
      NodeId node, const ReadContext& context) const;

  /// Computes the sizes of all primary files. A file that cannot be measured
  /// counts as 0 bytes. Fails if the request is interrupted.
  Status Measure(const ReadContext& context) const;

  uint32_t number = 0;  // see MountedContainers
  unsigned depth = 0;   // how many containers the container is nested in
  std::shared_ptr<const ContainerTree> container_tree = nullptr;
  /// Whether the files repeat others: the source is in `views`, or nested in a
  /// view.
  bool is_view = false;
  uint64_t bytes = 0;  // of heap used by opening it
  /// Whether this is an unreadable container in place of one that needs more
  /// memory than index=.
  bool refused = false;
  /// Modification time of the file or directory that stores this container; for
  /// a container in memory, that of the nearest container around it that has
  /// one. Zero if none has (see Mtime).
  FileTime mtime = {};
  std::optional<ReadAccess> readers = std::nullopt;
  std::shared_ptr<PageLedger> pages = nullptr;
  /// The container's source that has `at` as a node; null if `at` is in no
  /// container.
  std::shared_ptr<const ContainerSource> outer = nullptr;

 private:
  std::optional<Permissions> PermissionsOf(NodeId node) const override;
  uint64_t stored_size() const override;
  /// This source, or the container whose files or views it shows.
  const ContainerSource& Whole() const;
};

}  // namespace ctxfs
