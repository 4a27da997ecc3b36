// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/vfs/containers/mounted_containers.h"
#include "core/vfs/containers/renewal.h"
#include "core/vfs/inode_ref.h"
#include "core/vfs/mirror/mirror_source.h"
#include "core/vfs/own_source.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// The files that a mount shows, and the rules for them.
struct Shown {
  /// The only container, in a directory `name` of the root, or at the root
  /// itself if `name` is empty; if null, the directories of `mirror`.
  std::shared_ptr<const Container> container = nullptr;
  std::string name = {};
  std::unique_ptr<Mirror> mirror = nullptr;
  /// The table of the mount's own file; null for none.
  std::shared_ptr<const FileTable> stats = nullptr;
  // See MountRules.
  OpenOptions open = {};
  WorkLimit work_limit{.base = 0, .factor = 0};
  ListMode list_mode = ListMode::kPrimary;
  /// Returns the views of a container that is opened; null: there are no views.
  MountedContainers::Extras extras = nullptr;
  MountedContainers::Budget budget = {};
  bool logs_damage = true;
};

/// Finds the source and node of an inode. Only the Resolver attaches containers
/// to directories and renews those whose ctime changed. The inode of a mirrored
/// file is a hash. Any other inode consists of the number of an attached tree
/// (0 for the mount and its own container) and the index of a node. So every
/// mount of the same files has the same inodes. Safe for any number of threads.
class Resolver {
 public:
  struct Place {
    std::shared_ptr<const TreeSource> source;
    TreeSource::Node node = FileTree::kRoot;
    /// The source if it is a container's; else null.
    const ContainerSource* tree = nullptr;
  };

  explicit Resolver(Shown shown);

  InodeRef Decode(Inode inode) const;

  /// Calls `act` with the place of `inode`. While `act` fails with kStale,
  /// renews the container and calls `act` again, at most Renewal::kMax times.
  template <typename Act>
  auto At(const InodeRef& inode, const ReadContext& context,
          const Act& act) const {
    return Renewing(inode, context, [&]() -> decltype(act(Place())) {
      Place place = CTXFS_TRY(Find(inode, context));
      return act(std::move(place));
    });
  }
  /// Like At, for the place of the files that come first in a directory.
  template <typename Act>
  auto AtDirectory(const InodeRef& directory, const ReadContext& context,
                   const Act& act) const {
    return Renewing(directory, context, [&]() -> decltype(act(Place())) {
      Place place = CTXFS_TRY(FindDirectory(directory, context));
      return act(std::move(place));
    });
  }

  Result<Place> Find(const InodeRef& inode, const ReadContext& context) const;
  /// Like Find, after trying to renew the container if it is stale.
  Result<Place> FindFresh(const InodeRef& inode,
                          const ReadContext& context) const;

  /// Returns the place of the files that follow those at `place` in the same
  /// directory; nullopt if there are none. These are the files of a container
  /// or numbered directory that is attached to the directory, which this call
  /// opens; or of the same directory in the attached views; or in a mirrored
  /// root, the mount's own files.
  Maybe<Place> AttachedTo(const Place& place, const ReadContext& context) const;

  /// The sources of the files of a directory, in order of precedence; with
  /// `fresh`, fails with kStale if the last source is stale and cannot be
  /// renewed.
  Result<std::vector<Place>> Layers(const InodeRef& directory, bool fresh,
                                    const ReadContext& context) const;

  /// Must be called before a stale file is reopened; `attempt` counts from 0.
  /// For 0, does nothing, because reopening may suffice. For later attempts,
  /// renews the container, because a file that the container names has changed.
  /// Fails with kStale if the renewal fails, or after too many attempts.
  Status RenewFor(const InodeRef& inode, int attempt,
                  const ReadContext& context) const;

  void Forget(const InodeRef& inode, uint64_t count) const;

  /// Mirror::FileSystemOf; nullopt if the mount shows one container.
  std::optional<struct statvfs> FileSystemOf(Inode inode) const {
    if (mirror_ == nullptr) return std::nullopt;
    return mirror_->mirror().FileSystemOf(inode);
  }

  /// The path below the outermost container; empty for a mirrored file.
  std::string PathInFile(const InodeRef& inode,
                         const ReadContext& context) const;
  /// The path below the root, through every container around the file.
  std::string Path(const InodeRef& inode, const ReadContext& context) const;

  const MountedContainers& containers() const { return attached_; }
  /// The only container, or null. It may be renewed at any time.
  MountedContainers::Tree Top() const {
    return attached_.Opened(MountedContainers::kTop);
  }

 private:
  template <typename Act>
  auto Renewing(const InodeRef& inode, const ReadContext& context,
                const Act& act) const -> decltype(act()) {
    auto outcome = act();
    int renewals = 0;
    while (IsStale(outcome) && renewals < Renewal::kMax &&
           Renew(inode, context)) {
      ++renewals;
      outcome = act();
    }
    if (IsStale(outcome) && renewals == Renewal::kMax) {
      renewal_.GiveUp(ContainersOf(inode));
    }
    if (Status wanted = context.Check(); IsStale(outcome) && !wanted) {
      return std::move(wanted).error();
    }
    return outcome;
  }
  template <typename T>
  static bool IsStale(const Result<T>& result) {
    return !result && result.error().code == Code::kStale;
  }

  /// Reopens a container that `inode` is in (Renewal::Renew). Returns whether
  /// one was reopened.
  bool Renew(const InodeRef& inode, const ReadContext& context) const;
  Renewal::Chain ContainersOf(const InodeRef& inode) const;
  /// If the container at `at` is lost, retires its inode, so that a look-up of
  /// its name finds another inode.
  void RetireIfLost(const InodeRef& at) const;

  Result<Place> FindDirectory(const InodeRef& inode,
                              const ReadContext& context) const;
  Result<Place> RootOf(const MountedContainers::Attachment& attachment,
                       const ReadContext& context) const;
  /// The directory of the attached views with the same path as `place` below
  /// `views`; nothing if there is none.
  Maybe<Place> ViewsBeside(const Place& place,
                           const ReadContext& context) const;
  static Place PlaceIn(MountedContainers::Tree tree, NodeId node);

  MountedContainers::Open Opener() const;
  std::shared_ptr<const MirrorSource> MakeMirror(
      std::unique_ptr<Mirror> mirror);
  std::shared_ptr<const OwnSource> MakeOwn(const Shown& shown) const;

  const MountRules rules_;
  const std::shared_ptr<const MirrorSource> mirror_;  // null: one container
  const std::shared_ptr<const OwnSource> own_;
  mutable MountedContainers attached_;
  mutable Renewal renewal_;
};

}  // namespace ctxfs
