// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>
#include <unordered_set>

#include "core/base/mutex.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

/// Has the kernel drop its pages of files, in a thread of its own: it waits
/// until no READ of the file is under way. Safe for any number of threads.
class KernelPages {
 public:
  KernelPages() = default;
  ~KernelPages();
  KernelPages(const KernelPages&) = delete;
  KernelPages& operator=(const KernelPages&) = delete;

  /// `drop` drops the pages of one file, and may block until the session ends.
  /// Called before there are threads; without it, no pages are dropped.
  void DropBy(std::function<void(Inode)> drop) { drop_ = std::move(drop); }

  /// Returns at once.
  void Drop(Inode file);

  /// After this no new call of `drop` begins; a running one may go on.
  void Stop();

 private:
  void Run();

  std::function<void(Inode)> drop_;
  Mutex mutex_;
  CondVar changed_;
  std::unordered_set<Inode> files_ CTXFS_GUARDED_BY(mutex_);
  bool stopping_ CTXFS_GUARDED_BY(mutex_) = false;
  std::thread thread_ CTXFS_GUARDED_BY(mutex_);  // once there was a file
};

}  // namespace ctxfs
