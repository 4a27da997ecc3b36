// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>

#include "core/base/mutex.h"
#include "core/container/container.h"
#include "core/content/block_cache.h"
#include "core/vfs/namespace.h"
#include "core/vfs/prefetcher.h"
#include "fs/options.h"
#include "fs/request_pool.h"
#include "fs/signal_watch.h"
#include "fs/stats.h"

namespace ctxfs {

/// What the FUSE operations work on: one mount's files, cache and counters.
class Server {
 public:
  /// A mount of one container, called `name`.
  Server(std::shared_ptr<const Container> container,
         const MountOptions& options, const OpenOptions& open_options,
         const std::string& name);
  /// A mount of directories, or of several sources.
  Server(std::unique_ptr<Mirror> mirror, const MountOptions& options,
         const OpenOptions& open_options);

  const Namespace& files() const { return *files_; }
  Namespace& files() { return *files_; }
  BlockCache& cache() { return cache_; }
  Stats& stats() { return stats_; }
  Prefetcher& prefetcher() { return prefetcher_; }
  /// For requests that take long; to be stopped before the session ends.
  RequestPool& pool() { return pool_; }
  /// Null if the process had no descriptor for it.
  SignalWatch* signals() { return signals_.get(); }
  /// Makes the file for entries that are too large for the cache, before the
  /// process is confined. Returns its descriptor, or -1 if it cannot be made;
  /// that is an error where the options name its directory.
  Result<int> OpenSpillFile(const MountOptions& options);
  bool shows_xattrs() const { return shows_xattrs_; }
  bool verify_at_open() const { return verify_at_open_; }
  /// Seconds that the kernel may keep names and attributes of mirrored files.
  double timeout() const { return timeout_; }

  /// Whether files may be mapped that are opened with direct_io. Set before
  /// there are threads.
  bool maps_direct_io() const { return maps_direct_io_; }
  void set_maps_direct_io() { maps_direct_io_ = true; }
  /// Whether a part of a directory can be listed without a handle that the
  /// parts before it were listed with. Set before there are threads.
  bool lists_without_handles() const { return lists_without_handles_; }
  void set_lists_without_handles() { lists_without_handles_ = true; }
  /// Whether nothing was sent to the kernel yet; true once.
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
  explicit Server(const MountOptions& options);
  /// `.ctxfs/stats`; `cache_limit` in bytes.
  std::shared_ptr<const FileTable> StatsFile(uint64_t cache_limit);

  BlockCache cache_;
  Stats stats_;
  std::string name_;  // of the one container; empty when there may be several
  std::unique_ptr<Namespace> files_;
  Prefetcher prefetcher_;
  bool shows_xattrs_;
  bool verify_at_open_;
  double timeout_;
  bool maps_direct_io_ = false;
  bool lists_without_handles_ = false;
  bool answered_ = false;
  bool others_;  // whether others than the mounting user see the files
  uid_t uid_;
  gid_t gid_;
  bool uid_given_;
  bool gid_given_;
  mode_t umask_;
  Mutex mutex_;
  std::unordered_set<Inode> logged_ CTXFS_GUARDED_BY(mutex_);
  std::unique_ptr<SignalWatch> signals_;
  RequestPool pool_;  // last: its threads use the rest
};

}  // namespace ctxfs
