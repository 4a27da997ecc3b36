// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "fs/kernel/questions.h"

namespace ctxfs {

/// Notices that processes that read have ended. Where the kernel opens files by
/// itself it sends no FLUSH, so nothing else shows that nobody waits any more
/// for the read-ahead of such a process. Thread-safe.
class ReaderWatch final : public Questions {
 public:
  /// Calls `ended`, which must not throw, with a thread whose process has
  /// ended, in a thread that is not confined. Fails if the process is out of
  /// descriptors.
  static Result<std::unique_ptr<ReaderWatch>> Make(
      std::function<void(uint64_t thread)> ended);

  /// Watches the process of `thread` until it ends. Best effort: of more than
  /// 256 threads some are no longer watched; 0 is an unknown thread.
  void Watch(uint64_t thread);

  int fd() const override { return events_.get(); }
  void Answer() override;

 private:
  ReaderWatch(Fd events, Fd wake, std::function<void(uint64_t)> ended)
      : events_(std::move(events)),
        wake_(std::move(wake)),
        ended_(std::move(ended)) {}

  std::vector<uint64_t> TakeNew();
  /// Opens what tells of the end of a thread's process.
  void Open(uint64_t thread);
  void End(uint64_t thread);

  const Fd events_;  // an epoll: wake_, and the processes
  const Fd wake_;    // an eventfd
  const std::function<void(uint64_t)> ended_;
  Mutex mutex_;
  /// Pidfds by thread; without one until Answer has opened it.
  std::unordered_map<uint64_t, Fd> watched_ CTXFS_GUARDED_BY(mutex_);
  std::vector<uint64_t> new_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
