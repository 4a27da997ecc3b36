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

/// Reports changes in directories of the system, by inotify(7), so that the
/// kernel can be told to look again at names that it was allowed to keep for
/// long. Best effort: a network file system reports only the changes of this
/// machine, and the kernel bounds how many directories a user may watch. Safe
/// for any number of threads.
class DirectoryWatch {
 public:
  using Listener = ChangeListener;

  /// Directories that are watched at most. A user has a few thousand watches
  /// on a small machine, and other programs of theirs need some.
  static constexpr size_t kMaxWatches = 4096;

  /// Fails with kIo if the kernel gives no inotify descriptor.
  static Result<std::unique_ptr<DirectoryWatch>> Make();
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  /// Sets who is told, in a thread of its own and without a lock. The next call
  /// of Watch starts that thread, so it is confined as its caller is.
  void SetListener(Listener listener);

  /// Whether Watch has nothing to do for `directory`.
  bool IsWatched(Inode directory) const;

  /// Watches the directory at `path`, which the mount shows as `directory`.
  /// Does nothing if that is not possible.
  void Watch(Inode directory, const std::string& path);

  /// The kernel has forgotten `directory`.
  void Forget(Inode directory);

  /// Ends the reports. Does not wait for one that is running, because it may be
  /// blocked in the kernel by a request that is no longer answered. The
  /// destructor waits for it.
  void Stop();

 private:
  DirectoryWatch(Fd events, Fd wake)
      : events_(std::move(events)), wake_(std::move(wake)) {}

  /// The changes in a batch of events.
  struct Batch;

  void StartThread() CTXFS_REQUIRES(mutex_);
  void Run();
  /// Reads what has happened and tells the listener; `lost`: changes before
  /// that are not known. Returns false if there is no more to come.
  bool Pass(bool lost);
  /// Reads what has happened. Returns false if there is no more to come.
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
  /// A directory may be shown at several places, by links.
  std::unordered_map<int, std::vector<Inode>> shown_as_
      CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
