// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/tree/container_tree.h"
#include "core/tree/file_tree.h"
#include "core/vfs/attributes.h"
#include "core/vfs/listing.h"
#include "core/vfs/mirror.h"
#include "core/vfs/mount_files.h"
#include "core/vfs/mounted_containers.h"

namespace ctxfs {

/// The mount's files by inode number. The root is a small tree of the mount's
/// own, with either the tree of one container attached, which stays open, or a
/// Mirror's directories beside it. Containers in those, containers in
/// containers, and numbered files are MountedContainers, opened when a request
/// first needs one. An inode number is that of a mirrored file, or the number
/// of an attached tree (0 for the mount and its own container) and a node's
/// index: the same on every mount of the same files.
///
/// A function with a `context` may open a container. The cache of the context
/// must outlive the Namespace, since nested containers read through it.
class Namespace {
 public:
  static constexpr Inode kRoot = 1;

  struct Found {
    Inode inode = 0;
    Attributes attributes;
  };

  /// A file that is open.
  struct OpenFile {
    Content content;
    Lifetime lifetime = Lifetime::kForever;
    /// Whether pages that the kernel has of it are still good.
    bool same_pages = true;
    PageLedger::Verdict pages = {};
    /// Container::StoredSize of the container that it is in.
    uint64_t stored_size = 0;
    /// Keeps what the content is made from: a container, or a mirrored file.
    std::shared_ptr<const MountedTree> tree = nullptr;
    std::shared_ptr<const Source> source = nullptr;
    /// The table of entries that it is in, and its number; null if it is no
    /// entry.
    std::shared_ptr<const FileTable> entries = nullptr;
    uint32_t entry = 0;

    /// What has to be unchanged: the source of the container that it is in, or
    /// the mirrored file; null for one of the mount's own.
    const Source* made_from() const {
      if (tree == nullptr || tree->branch == nullptr) return source.get();
      return tree->branch->container().source().get();
    }
  };

  /// Shows the container in a directory `name` of the root, or at the root
  /// itself when `name` is empty. `stats` is a table of the mount's own file,
  /// or null; containers within are opened with `options`, each with `extras`,
  /// and kept open within `budget`.
  Namespace(const std::shared_ptr<const Container>& container,
            std::string_view name,
            const std::shared_ptr<const FileTable>& stats,
            const OpenOptions& options = {},
            const MountedContainers::Extras& extras = nullptr,
            const MountedContainers::Budget& budget = {});

  /// kLimit when the container has too many names to be shown.
  Status status() const {
    const MountedContainers::Tree top = Top();
    return top == nullptr ? Status() : top->branch->status();
  }

  /// Bounds the work that each request may cause. Without it there is no bound.
  void LimitWork(const WorkLimit& limit) { work_limit_ = limit; }
  const WorkLimit& work_limit() const { return work_limit_; }

  /// Chooses what listings show; kPrimary unless called.
  void SetListMode(ListMode mode) { list_mode_ = mode; }

  /// Shows what `mirror` has.
  Namespace(std::unique_ptr<Mirror> mirror,
            const std::shared_ptr<const FileTable>& stats,
            const OpenOptions& options = {},
            const MountedContainers::Extras& extras = nullptr,
            const MountedContainers::Budget& budget = {});

  /// What `name` is in `directory`; nothing for nothing. Counts as a look-up of
  /// the kernel's, until Forget.
  Maybe<Found> Lookup(Inode directory, std::string_view name,
                      const ReadContext& context) const;
  void Forget(Inode inode, uint64_t count);

  /// How long it holds that a name is not in `directory`.
  Lifetime NamesLast(Inode directory) const;

  /// The attributes of any file; measuring an own file may mean making it.
  Result<Attributes> Examine(Inode inode, const ReadContext& context) const;

  /// Whether all listings are immutable: none is of a mirrored directory.
  bool listings_immutable() const { return mirror_ == nullptr; }

  Result<std::unique_ptr<Listing>> OpenDirectory(
      Inode inode, const ReadContext& context) const;
  /// The directory that `inode` is in; the root if that cannot be told.
  Inode Parent(Inode inode, const ReadContext& context) const;

  Result<OpenFile> Open(Inode inode, const ReadContext& context) const;

  /// Mirror::TellChanges and StopTelling; nothing of a container changes.
  void TellChanges(Mirror::Changed changed) {
    if (mirror_ != nullptr) mirror_->TellChanges(std::move(changed));
  }
  void StopTelling() {
    if (mirror_ != nullptr) mirror_->StopTelling();
  }

  /// Notes that the kernel has opened a file and dropped the pages it had of it
  /// unless file.same_pages.
  void NoteOpened(Inode inode, const OpenFile& file);

  /// Opens a file again whose reads fail with kStale: where nothing but ctime
  /// changed, the container is opened anew, nothing of it is verified any more,
  /// and the file goes on. kStale for any other change. `renew` says that
  /// opening the file alone did not help: a file that the container names has
  /// changed.
  Result<OpenFile> Reopen(Inode inode, const OpenFile& file, bool renew,
                          const ReadContext& context) const;

  /// Notes that Reopen did not help. For a moment it then opens nothing anew
  /// but what is stale itself.
  void GiveUp(Inode inode) const;

  /// What is known of a file, or nothing for a file of no interest. `note` is
  /// the reason why it could not be read, where that was noted.
  Maybe<EntryInfo> Describe(Inode inode, const ReadContext& context) const;

  /// Notes why a file could not be read, for Describe and faults.json, unless
  /// that says nothing of the container.
  void NoteFailure(Inode inode, const Error& error,
                   const ReadContext& context) const;

  /// A file's path below its container's directory, or below the root if it is
  /// in no container.
  std::string PathInContainer(Inode inode, const ReadContext& context) const;
  /// Below the root, through every container that it is nested in: for
  /// messages.
  std::string Path(Inode inode, const ReadContext& context) const;

  /// Sums over the mount's own container, or the containers that are open.
  MountedContainers::Totals Totals() const { return attached_.Sum(); }

 private:
  /// A file or a directory: a node of a tree.
  struct Place {
    std::shared_ptr<const MountedTree> tree;
    NodeId node = FileTree::kRoot;

    const FileTree& files() const { return *tree->files; }
    Inode inode() const { return tree->InodeOf(node); }
  };
  /// A directory in a tree. Its children are at `inside`: the root of the tree
  /// that is attached there, or itself. Members of a container may be below
  /// another member that is a container too, and files of a container may be in
  /// `views`, which other views are attached to: those are at `around`, and
  /// they come first.
  struct Directory {
    Place inside;
    std::optional<Place> around;
  };
  class TreeListing;
  class MirrorListing;

  static bool IsMirrored(Inode inode) { return (inode & Mirror::kBit) != 0; }
  /// Whether a directory is one of the system's, in whole or in part.
  bool IsMirroredDirectory(Inode inode) const {
    return mirror_ != nullptr && (inode == kRoot || IsMirrored(inode));
  }

  /// The tree of the only container, or null. It may be renewed at any time.
  MountedContainers::Tree Top() const {
    return attached_.Opened(MountedContainers::kTop);
  }

  /// Calls `act` again, after a renewal, while it fails with kStale.
  template <typename Act>
  auto Renewing(Inode inode, const ReadContext& context, const Act& act) const
      -> decltype(act());
  /// Opens anew the outermost stale container of those that `inode` is in; if
  /// none is, the outermost, unless it is given up. Returns whether that was
  /// done.
  bool Renew(Inode inode, const ReadContext& context) const;
  bool RenewOne(const MountedContainers::Tree& tree, bool lose,
                const ReadContext& context) const;
  /// Opens a container again. kStale if it cannot be; `changed` says whether
  /// that is for good.
  Result<std::shared_ptr<const Container>> OpenAgain(
      const MountedTree& tree, bool& changed, const ReadContext& context) const;
  /// The numbers of the containers that `inode` is in, outermost first.
  std::vector<MountedContainers::Number> ContainersOf(Inode inode) const;
  bool IsGivenUp(MountedContainers::Number number) const;
  /// How much work one request about a file of `tree` may cause.
  Work WorkOn(const MountedTree& tree) const;

  /// Resolves an inode that is not a mirrored file's.
  Result<Place> Find(Inode inode, const ReadContext& context) const;
  Result<Place> RootOf(const MountedContainers::Attachment& attachment,
                       const ReadContext& context) const;

  /// Opens what is attached to a directory, if anything is.
  Result<Directory> Enter(Place place, const ReadContext& context) const;
  /// The directory among the attached views that has the same path as `place`,
  /// a directory below `views`; nothing if there is none.
  Maybe<Place> ViewsBeside(const Place& place,
                           const ReadContext& context) const;
  /// Opens the container that a mirrored file is.
  Result<Place> EnterMirrored(Inode inode, const ReadContext& context) const;
  /// The directory that a request is about, before Enter; nothing for one of
  /// the file system's.
  Maybe<Place> PlaceAt(Inode inode, const ReadContext& context) const;
  /// The same, entered.
  Maybe<Directory> DirectoryAt(Inode inode, const ReadContext& context) const;
  /// The same, after a renewal if what has to be opened lies in a container
  /// that was touched; and of a container that is not stale.
  Maybe<Directory> EnteredAt(Inode inode, const ReadContext& context) const;
  Maybe<Directory> RenewedAt(Inode inode, const ReadContext& context) const;
  /// Where an inode is, after a renewal if that container was touched.
  Result<Place> FindRenewed(Inode inode, const ReadContext& context) const;

  /// What `name` is among the nodes of a tree in `directory`.
  Maybe<Found> LookupIn(Place directory, std::string_view name,
                        const ReadContext& context) const;
  Maybe<Found> LookupMirrored(Inode directory, std::string_view name) const;
  Result<Attributes> ExamineAt(const Place& place,
                               const ReadContext& context) const;
  Attributes ExamineNode(const Mirror::Node& node) const;
  Result<OpenFile> OpenMirrored(Inode inode) const;
  Result<std::shared_ptr<const FileSource>> OpenMirroredSource(
      Inode inode) const;
  Result<Attributes> ExamineOnce(Inode inode, const ReadContext& context) const;
  Result<OpenFile> OpenOnce(Inode inode, const ReadContext& context) const;
  Maybe<Found> LookupOnce(Inode directory, std::string_view name,
                          const ReadContext& context) const;
  /// The tree of the container that the files of `tree` are in, or of the
  /// mount's own files; and a file's path there.
  static const MountedTree& ContainerOf(const MountedTree& tree);
  static std::string PathIn(const Place& place);
  /// Whether a listing shows a child.
  bool IsListed(const FileTree& files, NodeId child) const;
  FileTime MtimeOf(const MountedTree& tree) const;
  std::optional<Permissions> PermissionsOf(const Place& place) const;

  MountedContainers::Open Opener() const;
  Result<std::shared_ptr<const Container>> OpenMirroredContainer(
      Inode inode, const ReadContext& context) const;
  Result<std::shared_ptr<const Container>> OpenNested(
      const MountedTree& outer, NodeId node, const ReadContext& context) const;

  const OpenOptions options_;
  WorkLimit work_limit_{.base = 0, .factor = 0};
  ListMode list_mode_ = ListMode::kPrimary;
  const std::unique_ptr<Mirror> mirror_;  // null: a container is shown
  const MountFiles own_;
  const std::shared_ptr<const MountedTree> own_tree_;  // of own_
  mutable MountedContainers attached_;
  mutable Mutex mutex_;
  mutable std::unordered_map<MountedContainers::Number,
                             std::chrono::steady_clock::time_point>
      given_up_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
