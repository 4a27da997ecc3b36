// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/identity.h"
#include "core/vfs/attributes.h"
#include "core/vfs/containers/container_detector.h"
#include "core/vfs/mirror/directory.h"
#include "core/vfs/mirror/kept_sources.h"
#include "core/vfs/mirror/snapshot.h"

namespace ctxfs {

/// A Directory as the mount shows it (docs/tree.md, section 1):
/// sub-directories, containers, and other regular files, with links replaced by
/// their targets. Nothing else appears. Keeps only the nodes that the kernel
/// has looked up and not yet forgotten, and the directories that are being
/// listed. Safe for any number of threads.
class Mirror {
 public:
  /// Inodes of mirrored files, except the root, have this bit; other inodes do
  /// not.
  static constexpr Inode kBit = Inode{1} << 63;

  /// The suffix of a directory that shows the contents of a container: of a
  /// file that also appears as a file, or of a folder whose files are one
  /// container.
  static constexpr std::string_view kInside = "~dir";

  struct Options {
    /// Listings have NAME~dir for each file that is a container.
    bool list_inside = false;
    /// How long names and attributes are cached (-o timeout=).
    std::chrono::seconds lasting{1};
    /// The kernel opens files itself (-o revalidate=), and does not report
    /// which files are open. So files that lost their names stay open for a
    /// while.
    bool opened_by_kernel = false;
  };

  /// A mirrored file or directory.
  struct Node {
    Inode inode = 0;
    Kind kind = Kind::kFile;
    bool directory = false;  // on the disk; a container may be one, too
    bool link = false;       // a symbolic link made by the Directory, not the
                             // file system
    FileIdentity identity;
    std::optional<Permissions> permissions;  // nullopt: no owner
    uint32_t names = 1;                      // of a file: hard links

    /// Whether all names of the file, in all directories, share its inode.
    bool IsShared() const { return kind == Kind::kFile && !link && names > 1; }
  };

  /// A node, and its file or directory, found but not opened.
  struct Found {
    Node node;
    Directory::Item item;
  };

  /// Receives a name whose dentry the kernel should invalidate; for an empty
  /// name, the attributes of `directory` itself are invalid.
  using Changed = std::function<void(Inode directory, const std::string& name)>;

  /// Shows `directory` at the mount's root.
  Mirror(std::unique_ptr<Directory> directory, Options options);

  /// Returns the node of `name` in `directory` (the mount's root, or a mirrored
  /// inode), or nothing. Counts as a look-up of the kernel until Forget. Only a
  /// look-up probes a directory: it may be a container of several files.
  Maybe<Node> Lookup(Inode directory, std::string_view name,
                     const Request& request);

  /// Subtracts `count` look-ups. Returns whether the inode is now unknown.
  bool Forget(Inode inode, uint64_t count);

  /// Returns the current file of an inode; kStale if its name now belongs to
  /// another file, or to none.
  Result<Found> Find(Inode inode, const Request& request) const;

  /// Calls `changed` for each change that the directory reports, in a
  /// background thread. After StopTelling no new call begins; StopTelling
  /// returns at once, even while a call is running.
  void TellChanges(Changed changed);
  void StopTelling();

  /// Returns the node for stat: like Find, but also finds a file that lost its
  /// name while open.
  Result<Node> Examine(Inode inode, const Request& request) const;

  /// Like Find, for an open. If Find fails because the name is now another
  /// file's, the kernel repeats the look-up and the open for the same caller
  /// (Request::caller). That caller then gets the result of the repeated
  /// look-up, even if the name changed again.
  using FoundPtr = std::shared_ptr<const Found>;
  Result<FoundPtr> FindToOpen(Inode inode, const Request& request);

  /// Whether the plain file at `inode`, which `source` has open, is also a
  /// container (NAME~dir), so that its bytes must not change.
  Result<bool> HoldsContainer(Inode inode, const Source& source,
                              const Request& request) const;

  /// Mirrored files that stay open after their last reader.
  KeptSources& kept() { return kept_; }

  /// Records that `source` is the file at `inode`, for as long as it is open.
  void NoteSource(Inode inode, const SourcePtr& source);
  /// An open source of the file at `inode`, for READs of a file that has lost
  /// its name, if the kernel opens files itself (Options::opened_by_kernel);
  /// else null.
  SourcePtr OpenedByKernel(Inode inode) const;

  /// The file system that has the file at `inode`, or if the inode is not
  /// mirrored, the file system of the root; nullopt if there is none.
  std::optional<struct statvfs> FileSystemOf(Inode inode) const;

  /// Whether the file at `inode` was `identity` when the kernel last opened it.
  bool WasOpenedAs(Inode inode, const FileIdentity& identity) const;
  void NoteOpened(Inode inode, const FileIdentity& identity);

  /// Whether the kernel holds the inode and was told only this size of its
  /// file: by answers to look-ups, and by those that NoteSize recorded.
  bool WasToldSize(Inode inode, uint64_t size) const;
  void NoteSize(Inode inode, uint64_t size);

  /// Makes the container at `inode` stale for good: the file now has the bytes
  /// of another container. Later look-ups of its name find another inode.
  void Retire(Inode inode);

  /// Returns the inode that Lookup finds for `name` in `directory`. It differs
  /// from `inode`, which List returned, if that was retired.
  Inode InodeNow(Inode directory, std::string_view name, Inode inode) const;

  /// Lists `directory`, in any order, without opening any sub-directory. All
  /// readers share a snapshot while the directory does not change, and one
  /// thread takes it for all who wait.
  Result<std::shared_ptr<const DirectorySnapshot>> List(
      Inode directory, const ReadContext& context);

  /// The directory where `inode` was looked up; kRootInode if unknown.
  Inode Parent(Inode inode) const;

  /// Modification time that the root had at mount.
  FileTime mtime() const { return directory_->identity().mtime; }

  /// The permissions of the directory that is shown at the root.
  std::optional<Permissions> RootPermissions(const Request& request) const;

  Result<SourcePtr> OpenFound(const Found& found, const SourceOptions& options,
                              const Request& request) const {
    return directory_->Open(found.item, options, request);
  }

  /// The path below the mount's root, "a/b.mcf", for messages.
  std::string PathOf(Inode inode) const;

 private:
  using Clock = std::chrono::steady_clock;
  /// A name in the directory of an inode.
  using Name = std::pair<Inode, std::string>;

  /// A node that the kernel holds.
  struct Held {
    Inode parent;  // with `name`, its latest look-up
    std::string name;
    Node node;  // at its look-up
    uint64_t count;
    uint64_t size = node.identity.size;  // reported to the kernel first
    bool resized = false;                // another size was reported, too
    FileIdentity opened = {};            // at the latest open
    bool retired = false;
    std::set<Name> others = {};  // further names of a shared inode
    std::vector<std::weak_ptr<const Source>> sources = {};  // open ones

    bool Is(Inode directory, std::string_view of, const Node& now) const;
    void NoteName(Inode directory, std::string_view looked_up);
    /// At most `most` of its names: the latest, then others in any order.
    std::vector<Name> Names(size_t most = SIZE_MAX) const;
    void NoteSize(uint64_t told) { resized = resized || told != size; }
  };

  /// An open that the kernel repeats.
  struct Retry {
    Name name;
    Clock::time_point since;
    FoundPtr found = nullptr;  // by the repeated look-up
  };

  /// The path of a directory, and the identities of all directories on the way,
  /// itself included.
  struct Place {
    Inode inode;
    std::string path;  // in directory_
    std::vector<FileIdentity> line;
  };

  /// The latest listing of a directory, while someone has it open.
  struct Listed {
    // Key of BlockCache::Once: one request lists the directory, others wait.
    const uint64_t taking = NewOwner();
    std::weak_ptr<const DirectorySnapshot> snapshot;  // all under mutex_
    FileIdentity identity;
    std::chrono::steady_clock::time_point taken;
  };
  class Lister;

  /// kStale for an inode that the kernel does not hold.
  Result<Place> PlaceOf(Inode directory) const;
  static std::string PathIn(const Place& place, std::string_view name);
  /// Returns the node and the item of `name`; nullopt if it is not shown.
  /// Unless `probe`, a container that is a directory counts as a plain
  /// directory.
  Maybe<Found> See(const Place& place, std::string_view name, bool probe,
                   const Request& request) const;
  /// Like See, for the entry of directory_ with that exact name.
  Maybe<Found> SeeFile(const Place& place, std::string_view name, bool probe,
                       const Request& request) const;
  /// Returns the container that is shown as NAME~dir. NAME is a container that
  /// is shown as a file, because it is compressed or its format has
  /// Traits::stays_file; or a folder with a Format::folder_index; or a
  /// directory of a format with Traits::stays_file.
  Maybe<Found> SeeInside(const Place& place, std::string_view name,
                         const Request& request) const;
  /// Returns `name` if it is a directory, or a file that is a container and is
  /// shown as a file. A file that is a part of its folder's container
  /// (Format::folder_parts) is none.
  Maybe<Found> SeeContained(const Place& place, std::string_view name,
                            const Request& request) const;
  /// The file in the folder `name` that makes the folder a container; nullopt
  /// if there is none, or if other users see the mirror and may not search the
  /// folder.
  Maybe<Found> SeeFolderIndex(const Place& place, std::string_view name,
                              const Node& folder, const Request& request) const;
  /// Whether the directory `found` is a container, and the directory that it is
  /// in is none.
  Result<bool> IsOutermost(const Place& place, const Found& found,
                           std::string_view name, const Request& request) const;
  static Inode InodeOf(Inode parent, std::string_view name, const Node& node);
  /// The node of `item` of kind `kind`, as `name` in `place`.
  static Node NodeOf(const Place& place, std::string_view name,
                     const Directory::Item& item, Kind kind);
  /// Returns `inode` under one of its names. Fails with kStale if it no longer
  /// has that name.
  Result<Found> FindAs(Inode inode, const Node& held, const Name& name,
                       const Request& request) const;
  /// A source that has the file at `inode` open; null if there is none.
  SourcePtr OpenedAt(Inode inode) const;
  void NoteOpenNames(Inode inode, const Held& held) CTXFS_REQUIRES(mutex_);
  /// Files that were opened under a name and may still be open.
  std::vector<Inode> OpenedBy(const Name& name) const;
  void NoteRetry(Inode inode, uint64_t caller);
  /// Records the result of a look-up for which a Retry waits.
  void NoteFound(const Name& name, Found found, uint64_t caller)
      CTXFS_REQUIRES(mutex_);
  /// The result of the look-up of the caller's Retry, if it is recent and at
  /// `inode`; else null.
  FoundPtr FoundAgain(Inode inode, uint64_t caller) const;
  void EndRetry(uint64_t caller);
  /// Returns the inode by which the kernel holds `name`: `inode`, or a later
  /// one if Lookup found that `inode` was retired.
  Inode HeldAs(Inode directory, std::string_view name, Inode inode) const
      CTXFS_REQUIRES(mutex_);
  /// The inode to try next if `inode` belongs to another file.
  static Inode After(Inode inode) { return (inode + 1) | kBit; }
  static Error FileIsGone() {
    return {Code::kStale, "the file is there no more"};
  }
  static bool StillIs(const Node& held, const Node& now);
  /// Whether a directory is on the way to `place`: a loop of links.
  static bool Loops(const Place& place, const FileIdentity& directory);

  std::shared_ptr<Listed> ListedAt(Inode directory);

  /// Every name that the kernel holds.
  std::vector<Name> HeldNames() const;
  std::vector<Inode> OpenInodes() const;

  const Options options_;
  mutable ContainerDetector detector_;
  KeptSources kept_;
  std::atomic<bool> any_retired_ = false;
  mutable Mutex mutex_;
  std::unordered_map<Inode, Held> held_ CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<Inode, std::shared_ptr<Listed>> listed_
      CTXFS_GUARDED_BY(mutex_);
  /// Names of opened files; empty unless changes are reported.
  std::set<std::pair<Name, Inode>> open_names_ CTXFS_GUARDED_BY(mutex_);
  std::map<uint64_t, Retry> retries_ CTXFS_GUARDED_BY(mutex_);  // by caller
  const std::unique_ptr<Directory>
      directory_;  // last, because its thread uses the other members
};

}  // namespace ctxfs
