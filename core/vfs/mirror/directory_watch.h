// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/vfs/mirror/directory.h"

namespace ctxfs {

/// Reports changes in directories of the system, by inotify(7), so that names
/// which the kernel caches for long can be invalidated. Best effort: a network
/// file system reports only the changes of this machine, and the kernel bounds
/// how many directories a user may watch. Safe for any number of threads.
class DirectoryWatch {
 public:
  using Listener = ChangeListener;

  /// Maximum number of watched directories. On a small machine, a user has a
  /// few thousand watches, and other programs of that user need some of them.
  static constexpr size_t kMaxWatches = 4096;

  /// Fails if the kernel provides no inotify descriptor.
  static Result<std::unique_ptr<DirectoryWatch>> Make();
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  /// Sets the listener, which is called in a background thread without a lock.
  /// The next call of Watch starts the thread, which inherits the confinement
  /// of that caller.
  void SetListener(Listener listener);

  /// Whether Watch has nothing to do for `directory`.
  bool IsWatched(Inode directory) const;

  /// Watches the directory at `path`, which the mount shows as `directory`.
  /// Does nothing if that fails.
  void Watch(Inode directory, const std::string& path);

  /// Stops watching `directory`. Must be called when the kernel has forgotten
  /// it.
  void Forget(Inode directory);

  /// Stops the reports. Does not wait for a running report, which may be
  /// blocked in the kernel by a request that is no longer answered. The
  /// destructor waits for that report.
  void Stop();

 private:
  DirectoryWatch(Fd events, Fd wake)
      : events_(std::move(events)), wake_(std::move(wake)) {}

  struct Batch;

  void StartThread() CTXFS_REQUIRES(mutex_);
  void Run();
  /// Reads a batch of events and passes it to the listener; `lost`: earlier
  /// changes were lost. Returns false if no further events can be read.
  bool Pass(bool lost);
  /// Reads a batch of events. Returns false if no further events can be read.
  bool Read(Batch& batch);
  void HandleEvent(int watch, uint32_t what, std::string_view name,
                   Batch& batch) CTXFS_REQUIRES(mutex_);
  void Tell(const Batch& batch) const;

  const Fd events_;  // of inotify
  const Fd wake_;    // an eventfd
  std::atomic<bool> stop_ = false;
  mutable Mutex mutex_;
  Listener listener_ CTXFS_GUARDED_BY(mutex_);
  std::thread thread_ CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<Inode, int> watch_of_ CTXFS_GUARDED_BY(mutex_);
  /// One directory may appear at several places, by links.
  std::unordered_map<int, std::vector<Inode>> shown_as_
      CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
