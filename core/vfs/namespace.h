// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/vfs/containers/mounted_containers.h"
#include "core/vfs/listing.h"
#include "core/vfs/resolver.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// The mount's files by inode number. The root is a small tree of the mount's
/// own. Either the tree of one container is attached to it and stays open, or a
/// Mirror's directories are beside it. Containers in those directories, nested
/// containers, and numbered files are opened when a request first needs them.
///
/// The Resolver finds the TreeSource that answers a request. A function with a
/// `context` may open a container. The cache of the context must outlive the
/// Namespace, since nested containers read through it.
class Namespace {
 public:
  explicit Namespace(Shown shown) : resolver_(std::move(shown)) {}

  /// Fails with kLimit if the container has too many names or files, or needs
  /// too much memory.
  Status status() const;

  /// Returns the node of `name` in `directory`; nullopt if it does not exist.
  /// The call counts as a look-up of the kernel until Forget.
  Maybe<FoundNode> Lookup(Inode directory, std::string_view name,
                          const ReadContext& context) const;
  void Forget(Inode inode, uint64_t count) {
    resolver_.Forget(resolver_.Decode(inode), count);
  }

  /// How long the kernel may cache that a name is not in `directory`. If that
  /// is for ever in the root, all listings are immutable.
  Lifetime NamesLast(Inode directory) const;

  // The functions of TreeSource, by inode.

  Result<Attributes> Examine(Inode inode, const ReadContext& context) const;
  Result<Cost> SizeCost(Inode inode, const ReadContext& context) const;
  Result<std::unique_ptr<Listing>> OpenDirectory(
      Inode inode, const ReadContext& context) const;
  /// The root if the parent is unknown.
  Inode Parent(Inode inode, const ReadContext& context) const;
  /// The target is relative to the link's directory and within its container.
  Result<std::string> ReadLink(Inode inode, const ReadContext& context) const;
  Maybe<EntryInfo> Describe(Inode inode, const ReadContext& context) const;
  Result<OpenFile> Open(Inode inode, const ReadContext& context) const;

  /// Reopens a file whose reads fail with kStale; `attempt` counts from 0. If
  /// only ctime has changed, the container is reopened, all of its verdicts are
  /// dropped, and reading continues. Fails with kStale after any other change,
  /// and after too many attempts.
  Result<OpenFile> Reopen(Inode inode, const OpenFile& file, int attempt,
                          const ReadContext& context) const;

  /// The container at `directory`, opened if it is closed. Fails with
  /// kNotContainer if there is none.
  Result<std::shared_ptr<const Container>> ContainerAt(
      Inode directory, const ReadContext& context) const;
  /// The path of views/ below `directory`, which is a container: "views", or
  /// "views~2" if an entry has that name. Empty if there is none.
  Result<std::string> ViewsAt(Inode directory,
                              const ReadContext& context) const;

  /// Records why a file could not be read, for Describe and faults.json, unless
  /// the error says nothing about the container.
  void NoteFailure(Inode inode, const Error& error,
                   const ReadContext& context) const;

  /// A file's path below its container's directory, or below the root if it is
  /// in no container.
  std::string PathInContainer(Inode inode, const ReadContext& context) const;
  /// The path below the outermost container: for data that outlives the mount.
  std::string PathInFile(Inode inode, const ReadContext& context) const;
  /// The path below the root, through all containers: for messages.
  std::string Path(Inode inode, const ReadContext& context) const;

  /// The file system of a mirrored directory; nothing if there is none.
  std::optional<struct statvfs> FileSystemOf(Inode inode) const {
    return resolver_.FileSystemOf(inode);
  }

  /// Totals of the mount's own container, or of the open containers. Unmeasured
  /// files count as 0 bytes.
  MountedContainers::Totals Totals() const;
  /// Like Totals, after measuring the primary files of the own container.
  Result<MountedContainers::Totals> MeasuredTotals(
      const ReadContext& context) const;

 private:
  /// The tree of the container at `directory`; fails like ContainerAt.
  Result<std::shared_ptr<const ContainerTree>> TreeAt(
      Inode directory, const ReadContext& context) const;

  const Resolver resolver_;
};

}  // namespace ctxfs
