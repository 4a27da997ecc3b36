// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/mutex.h"
#include "core/content/block_cache.h"
#include "core/io/spill_file.h"
#include "core/vfs/materialized/materialized_files.h"
#include "core/vfs/materialized/prefetcher.h"
#include "core/vfs/namespace.h"
#include "core/vfs/sources.h"
#include "fs/fuse/request_pool.h"
#include "fs/fuse/stats.h"
#include "fs/kernel/backing_files.h"
#include "fs/kernel/container_watch.h"
#include "fs/kernel/file_keeper.h"
#include "fs/kernel/inode_files.h"
#include "fs/mount/options.h"
#include "fs/mount/reader_watch.h"
#include "fs/mount/signal_watch.h"

namespace ctxfs {

/// Makes the FileKeeper of a mount; null if that fails. Must run before any
/// thread is confined.
std::unique_ptr<FileKeeper> OpenKeeper(const MountOptions& options);

/// The state behind the FUSE operations: the files, cache and counters of a
/// mount.
class Server {
 public:
  /// Prepares serving `sources`, which `options` name, at `mount_point`.
  /// `keeper` comes from OpenKeeper, may be null, and must outlive the server.
  Server(Sources sources, const MountOptions& options,
         const OpenOptions& open_options, const std::string& mount_point,
         FileKeeper* keeper);

  const Namespace& files() const { return *files_; }
  Namespace& files() { return *files_; }
  BlockCache& cache() { return cache_; }
  Stats& stats() { return stats_; }
  Prefetcher& prefetcher() { return prefetcher_; }
  MaterializedFiles& materialized_files() { return materialized_files_; }
  /// The threads for long requests. They must be stopped before the session
  /// ends.
  RequestPool& pool() { return pool_; }
  /// Finds the signals of callers; null if the process was out of descriptors.
  SignalWatch* signals() { return signals_.get(); }
  /// Notices processes that have ended; null if every open and close is a
  /// request, or if the process was out of descriptors.
  ReaderWatch* readers() { return readers_.get(); }
  /// The files that the kernel reads itself; null with passthrough=off, or if
  /// the process was out of descriptors.
  BackingFiles* backing_files() { return backing_files_.get(); }
  /// Questions for the threads that are not confined.
  std::vector<Questions*> questions() const;
  /// Creates the file for entries larger than the cache; must run before the
  /// process is confined. Returns its descriptor, or -1 if creation failed.
  /// Failure is an error if the options name the directory.
  Result<int> OpenSpillFile();
  /// Lets the kernel read plain and materialised files itself, where it can.
  /// `device` is the descriptor of the session. Fails only with passthrough=on.
  /// Must run before other threads start.
  Status EnablePassthrough(int device);
  const MountOptions& options() const { return options_; }
  WorkLimit work_limit() const { return {.factor = options_.max_expansion}; }

  /// Like Mirror::TellChanges and Mirror::StopTelling. A mounted container
  /// reports no changes.
  void TellChanges(Mirror::Changed changed);
  void StopTelling();
  /// Sets the function that makes the kernel query a file's attributes again.
  /// Must run before other threads start.
  void ForgetAttributesBy(std::function<void(Inode)> forget) {
    forget_attributes_ = std::move(forget);
  }
  void ForgetAttributes(Inode file) const { forget_attributes_(file); }
  /// Watches the mount's container, with revalidation and unless the mount is
  /// of a directory or URL. A change then makes the kernel ask for the
  /// attributes of files again before it uses their cached pages. Must run
  /// unconfined, before other threads start.
  void WatchContainer();
  /// Sets the function that drops the kernel's cached pages of a file that the
  /// kernel will read itself (MaterializedFiles::DropPagesBy). Must run before
  /// other threads start.
  void DropPagesBy(std::function<void(Inode)> drop);

  /// Whether the kernel maps files opened with direct_io. Set before threads
  /// start.
  bool maps_direct_io() const { return maps_direct_io_; }
  void set_maps_direct_io() { maps_direct_io_ = true; }
  /// Whether the kernel opens directories without OPENDIR requests, so that
  /// listings have no handle. Set before threads start.
  bool lists_without_handles() const { return lists_without_handles_; }
  void set_lists_without_handles() { lists_without_handles_ = true; }
  /// Whether the kernel opens files without OPEN requests, so that requests
  /// have no handle. Set before threads start.
  bool opens_without_handles() const { return opens_without_handles_; }
  void set_opens_without_handles() { opens_without_handles_ = true; }
  /// Returns the generation of an inode, which distinguishes NFS handles of
  /// this mount from handles of a container that was mounted here before.
  uint64_t GenerationOf(Inode inode) const {
    return inode == kRootInode ? 0 : generation_;  // the kernel expects 0
  }
  InodeFiles& inode_files() { return *inode_files_; }
  const InodeFiles& inode_files() const { return *inode_files_; }
  /// Returns true at the first call, which is for the first answer. That call
  /// must come before threads start; later calls only read.
  bool TakeFirstAnswer() {
    if (answered_) return false;
    answered_ = true;
    return true;
  }

  /// The owner, group and permission bits that a file shows.
  Permissions Show(const Attributes& attributes) const;

  /// Logs why a file could not be read, once per file; again after 10,000 other
  /// files have failed.
  void LogFailure(Inode inode, const Error& error);

 private:
  /// Enables materialising files below cache_dir, where possible.
  void MakeFiles(bool passthrough);
  Stats::Others OthersFor(const ReadContext& context) const;
  std::shared_ptr<const FileTable> StatsFile();

  const MountOptions options_;
  const bool others_;  // whether others than the mounting user see the files
  BlockCache cache_;
  Stats stats_;
  std::string name_;          // of the only container; else empty
  Mirror* mirror_ = nullptr;  // of files_; null for a container
  std::unique_ptr<Namespace> files_;
  Prefetcher prefetcher_;
  MaterializedFiles materialized_files_;
  std::optional<InodeFiles> inode_files_;  // of files_
  std::function<void(Inode)> forget_attributes_ = [](Inode) {};
  bool maps_direct_io_ = false;
  bool lists_without_handles_ = false;
  bool opens_without_handles_ = false;
  bool answered_ = false;
  uint64_t generation_ = 0;
  Mutex mutex_;
  std::unordered_set<Inode> logged_ CTXFS_GUARDED_BY(mutex_);
  std::unique_ptr<SignalWatch> signals_;
  std::unique_ptr<ContainerWatch> container_watch_;  // null: not watched
  std::unique_ptr<ReaderWatch> readers_;
  std::unique_ptr<BackingFiles> backing_files_;
  FileKeeper* const keeper_;               // null: creates no files
  std::shared_ptr<SpillFile> spill_file_;  // null: nothing is decoded to disk
  RequestPool pool_;                       // destroyed first: uses the rest
};

}  // namespace ctxfs
