// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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
#include "core/tree/branch.h"
#include "core/tree/files.h"
#include "core/vfs/attributes.h"
#include "core/vfs/grafts.h"
#include "core/vfs/listing.h"
#include "core/vfs/mirror.h"
#include "core/vfs/mount_files.h"

namespace ctxfs {

/// The mount's files by inode number. The root is a small tree of the mount's
/// own, with either a container grafted onto it that stays open, or a Mirror's
/// directories beside it. Containers in those, and containers in containers,
/// are grafts, opened when someone first looks inside. An inode number is that
/// of a mirrored file, or the number of a graft (0 for the mount and its own
/// container) and a node's index: the same on every mount of the same files.
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
    std::shared_ptr<const Branch> branch = nullptr;
    std::shared_ptr<const Source> source = nullptr;
    /// Where it is an entry: of which container, and which.
    std::shared_ptr<const Container> container = nullptr;
    uint32_t entry = 0;
  };

  /// Shows the container in a directory `name` of the root, or at the root
  /// itself when `name` is empty. `stats` is the mount's own file, if it has a
  /// path; containers within are opened with `options`, and `hang` says what
  /// more hangs in each.
  Namespace(const std::shared_ptr<const Container>& container,
            std::string_view name, const OwnFile& stats,
            const OpenOptions& options = {},
            const Grafts::Hang& hang = nullptr);

  /// kLimit when the container has too many names to be shown.
  Status status() const {
    const std::shared_ptr<const Branch> top = Top();
    return top == nullptr ? Status() : top->status();
  }

  /// Bounds the work that each request may cause. Without it there is no bound.
  void LimitWork(const WorkLimit& limit) { work_limit_ = limit; }
  const WorkLimit& work_limit() const { return work_limit_; }

  /// Shows what `mirror` has.
  Namespace(std::unique_ptr<Mirror> mirror, const OwnFile& stats,
            const OpenOptions& options = {},
            const Grafts::Hang& hang = nullptr);

  /// What `name` is in `directory`; nothing for nothing. Counts as a look-up of
  /// the kernel's, until Forget.
  Result<std::optional<Found>> Lookup(Inode directory, std::string_view name,
                                      const ReadContext& context) const;
  void Forget(Inode inode, uint64_t count);

  /// How long it holds that a name is not in `directory`.
  Lifetime NamesLast(Inode directory) const;

  /// The attributes of any file; measuring an own file may mean making it.
  Result<Attributes> Examine(Inode inode, const ReadContext& context) const;

  Result<std::unique_ptr<Listing>> OpenDirectory(
      Inode inode, const ReadContext& context) const;
  Inode Parent(Inode inode, const ReadContext& context) const;

  /// Whether a directory is the `.ctxfs` of a container, whatever it is called
  /// beside an entry of that name.
  bool IsMetadata(Inode directory, const ReadContext& context) const;

  Result<OpenFile> Open(Inode inode, const ReadContext& context) const;

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

  /// What is known of a file, or nothing for a file of no interest.
  Result<std::optional<EntryInfo>> Describe(Inode inode,
                                            const ReadContext& context) const;

  /// A file's path below its container's directory, or below the root where it
  /// is in none.
  std::string PathInContainer(Inode inode, const ReadContext& context) const;
  /// Below the root, through whatever it lies in: for messages.
  std::string Path(Inode inode, const ReadContext& context) const;

  /// Sums over the mount's own container, or the containers that are open.
  Grafts::Totals Totals() const;

 private:
  /// A node of the mount's own files (no branch), of a branch, or of numbered
  /// files that a branch has.
  struct Place {
    const Files* files = nullptr;
    NodeId node = Files::kRoot;
    Grafts::Number graft = 0;
    std::shared_ptr<const Branch> branch = nullptr;  // keeps `files` alive
  };
  /// A directory in a tree. Its children are at `inside`: the root of what
  /// hangs there, or itself. Members of a container may lie below another that
  /// is a container too: `around` has those, and they come first.
  struct Directory {
    Place inside;
    std::optional<Place> around;
  };
  class TreeListing;
  class MirrorListing;

  static constexpr unsigned kGraftShift = 32;

  static bool IsMirrored(Inode inode) { return (inode & Mirror::kBit) != 0; }
  /// Whether a directory is one of the system's, in whole or in part.
  bool IsMirroredDirectory(Inode inode) const {
    return mirror_ != nullptr && (inode == kRoot || IsMirrored(inode));
  }

  /// The container that is shown, or null: that of one mount may be renewed.
  std::shared_ptr<const Branch> Top() const;

  /// Calls `act` again, after a renewal, while it fails with kStale.
  template <typename Act>
  auto Renewing(Inode inode, const ReadContext& context, const Act& act) const
      -> decltype(act());
  /// Opens anew the outermost stale container of those that `inode` is in; if
  /// none is, the outermost, unless it is given up. Returns whether that was
  /// done.
  bool Renew(Inode inode, const ReadContext& context) const;
  bool RenewOne(Grafts::Number number,
                const std::shared_ptr<const Branch>& branch, bool lose,
                const ReadContext& context) const;
  Status RenewTop(const std::shared_ptr<const Branch>& old, bool lose,
                  const ReadContext& context) const;
  /// Opens a container again. kStale if it cannot be; `changed` says whether
  /// that is for good.
  Result<std::shared_ptr<const Container>> OpenAgain(
      const Branch& branch, bool& changed, const ReadContext& context) const;
  /// What `inode` is in, outermost first: 0 is Top, others are grafts.
  std::vector<Grafts::Number> ContainersOf(Inode inode) const;
  PageLedger::Verdict PagesOf(const Place& place) const;
  /// How much work one request about a place may cause.
  Work WorkAt(const Place& place) const;
  bool IsGivenUp(Grafts::Number number) const;

  Result<Place> Find(Inode inode, const ReadContext& context) const;
  Result<Place> RootOf(Grafts::Number graft, const ReadContext& context) const;
  Inode InodeOf(const Place& place) const;

  /// Opens what hangs at a directory, if anything does.
  Result<Directory> Enter(Place place, const ReadContext& context) const;
  Result<Place> EnterContainer(const Mirror::Node& node,
                               const ReadContext& context) const;
  /// The directory whose children a request is about; nothing for one that is
  /// the system's.
  Result<std::optional<Directory>> DirectoryAt(
      Inode inode, const ReadContext& context) const;

  std::optional<Found> LookupOwn(std::string_view name) const;
  Result<std::optional<Found>> LookupMirrored(Inode directory,
                                              std::string_view name) const;
  Result<Attributes> ExamineAt(const Place& place,
                               const ReadContext& context) const;
  Attributes ExamineNode(const Mirror::Node& node) const;
  Result<OpenFile> OpenMirrored(Inode inode) const;
  Result<OpenFile> OpenOnce(Inode inode, const ReadContext& context) const;
  Result<std::optional<Found>> LookupOnce(Inode directory,
                                          std::string_view name,
                                          const ReadContext& context) const;
  /// Asks the file that `place` is made from, through whatever is made in
  /// memory on the way: `ask` gives something true where it finds an answer.
  template <typename Ask>
  auto FromStore(const Place& place, const Ask& ask,
                 const ReadContext& context) const
      -> decltype(ask(std::declval<const Source&>()));
  int64_t MtimeOf(const Place& place, const ReadContext& context) const;
  std::optional<Permissions> PermissionsOf(const Place& place,
                                           const ReadContext& context) const;

  Result<std::shared_ptr<const Container>> OpenMirroredContainer(
      Inode inode, const ReadContext& context) const;
  Result<std::shared_ptr<const Container>> OpenHanging(
      Grafts::Number within, NodeId node, unsigned depth,
      const ReadContext& context) const;
  Result<std::shared_ptr<const Container>> Unreadable(
      std::shared_ptr<const Source> source, Error reason) const;

  const OpenOptions options_;
  WorkLimit work_limit_{.base = 0, .factor = 0};
  const std::unique_ptr<Mirror> mirror_;  // null: a container is shown
  const std::function<std::shared_ptr<const Branch>(
      const std::shared_ptr<const Container>&)>
      make_top_;
  const uint64_t renewing_top_ = NewOwner();  // names the work of doing it
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Branch> top_ CTXFS_GUARDED_BY(mutex_);
  mutable bool top_lost_ CTXFS_GUARDED_BY(mutex_) = false;
  mutable PageLedger top_pages_ CTXFS_GUARDED_BY(mutex_);
  mutable std::unordered_map<Grafts::Number,
                             std::chrono::steady_clock::time_point>
      given_up_ CTXFS_GUARDED_BY(mutex_);
  const MountFiles own_;
  mutable Grafts grafts_;
};

}  // namespace ctxfs
