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
#include "fs/kernel/file_keeper.h"
#include "fs/kernel/inode_files.h"
#include "fs/mount/options.h"
#include "fs/mount/signal_watch.h"

namespace ctxfs {

/// What makes and keeps files for a mount; null if that cannot be. Called
/// before any thread is confined.
std::unique_ptr<FileKeeper> OpenKeeper(const MountOptions& options);

/// What the FUSE operations work on: one mount's files, cache and counters.
class Server {
 public:
  /// A mount of `sources`, those of `options`, at `mount_point`. `keeper`,
  /// which outlives it, is that of OpenKeeper.
  Server(Sources sources, const MountOptions& options,
         const OpenOptions& open_options, const std::string& mount_point,
         FileKeeper* keeper);

  const Namespace& files() const { return *files_; }
  Namespace& files() { return *files_; }
  BlockCache& cache() { return cache_; }
  Stats& stats() { return stats_; }
  Prefetcher& prefetcher() { return prefetcher_; }
  MaterializedFiles& materialized_files() { return materialized_files_; }
  /// For requests that take long; to be stopped before the session ends.
  RequestPool& pool() { return pool_; }
  /// Null if the process had no descriptor for it.
  SignalWatch* signals() { return signals_.get(); }
  /// Null with passthrough=off, or if the process had no descriptor for it.
  BackingFiles* backing_files() { return backing_files_.get(); }
  /// What the thread that is not confined has to answer.
  std::vector<Questions*> questions() const;
  /// Makes the file for entries that are too large for the cache, before the
  /// process is confined. Returns its descriptor, or -1 if it cannot be made;
  /// that is an error where the options name its directory.
  Result<int> OpenSpillFile();
  /// Has the kernel read files by itself, where it can, and files made for it.
  /// `device` is the descriptor of the session. Fails with passthrough=on
  /// alone. Called while there are no other threads.
  Status EnablePassthrough(int device);
  const MountOptions& options() const { return options_; }
  WorkLimit work_limit() const { return {.factor = options_.max_expansion}; }

  /// Mirror::TellChanges and StopTelling; nothing of a container changes.
  void TellChanges(Mirror::Changed changed);
  void StopTelling();
  /// How the kernel is made to ask for a file's attributes again. Set while
  /// there are no other threads.
  void ForgetAttributesBy(std::function<void(Inode)> forget) {
    forget_attributes_ = std::move(forget);
  }
  void ForgetAttributes(Inode file) const { forget_attributes_(file); }
  /// Has pages of files dropped that the kernel reads by itself from then on
  /// (MaterializedFiles::DropPagesBy). Called while there are no other threads.
  void DropPagesBy(std::function<void(Inode)> drop);

  /// Whether files may be mapped that are opened with direct_io. Set before
  /// there are threads.
  bool maps_direct_io() const { return maps_direct_io_; }
  void set_maps_direct_io() { maps_direct_io_ = true; }
  /// Whether a part of a directory can be listed without a handle that the
  /// parts before it were listed with. Set before there are threads.
  bool lists_without_handles() const { return lists_without_handles_; }
  void set_lists_without_handles() { lists_without_handles_ = true; }
  /// Whether the kernel opens files by itself, and is told no handle. Set
  /// before there are threads.
  bool opens_without_handles() const { return opens_without_handles_; }
  void set_opens_without_handles() { opens_without_handles_ = true; }
  /// Tells handles of NFS for this mount's files from those for files of
  /// another container that was mounted here before.
  uint64_t GenerationOf(Inode inode) const {
    return inode == kRootInode ? 0 : generation_;  // the kernel wants that of 0
  }
  InodeFiles& inode_files() { return *inode_files_; }
  const InodeFiles& inode_files() const { return *inode_files_; }
  /// Whether nothing was sent to the kernel yet; true once. Written while there
  /// are no threads, read by all of them later.
  bool TakeFirstAnswer() {
    if (answered_) return false;
    answered_ = true;
    return true;
  }

  /// Whose a file is said to be, and its permission bits.
  Permissions Show(const Attributes& attributes) const;

  /// Logs why a file could not be read. A file is logged once, and again after
  /// 10,000 others have failed.
  void LogFailure(Inode inode, const Error& error);

 private:
  /// Has files be made below cache_dir, where that can be.
  void MakeFiles(bool passthrough);
  Stats::Others OthersFor(const ReadContext& context) const;
  /// `.ctxfs/stats`.
  std::shared_ptr<const FileTable> StatsFile();

  const MountOptions options_;
  const bool others_;  // whether others than the mounting user see the files
  BlockCache cache_;
  Stats stats_;
  std::string name_;  // of the one container; empty when there may be several
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
  std::unique_ptr<BackingFiles> backing_files_;
  FileKeeper* const keeper_;               // null: nothing is made
  std::shared_ptr<SpillFile> spill_file_;  // null: nothing is decoded to disk
  RequestPool pool_;                       // last: its threads use the rest
};

}  // namespace ctxfs
