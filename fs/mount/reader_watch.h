// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

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
  /// Calls `ended` with a thread whose process has ended, in a thread that is
  /// not confined. Fails if the process is out of descriptors.
  static Result<std::unique_ptr<ReaderWatch>> Make(
      std::function<void(uint64_t thread)> ended);

  /// Watches the process of `thread` until it ends. Best effort: of more than
  /// 256 threads, some are no longer watched. A `thread` of 0 is unknown and
  /// ignored.
  void Watch(uint64_t thread);

  int fd() const override { return ready_.get(); }
  void Answer() override;

 private:
  struct Process {
    Fd descriptor;  // a pidfd
    pid_t number;
  };
  struct Watched {};  // the reply to a question

  ReaderWatch(Fd ready, Fd wake, std::function<void(uint64_t)> ended)
      : ready_(std::move(ready)),
        ended_(std::move(ended)),
        threads_(std::move(wake)) {}

  Watched WatchNew(uint64_t thread);
  void End(uint64_t thread);

  const Fd ready_;  // an epoll: threads_.fd(), and the processes
  const std::function<void(uint64_t)> ended_;
  QuestionQueue<uint64_t, Watched> threads_;
  Mutex mutex_;
  /// The processes that are watched, by the thread that Watch was called with.
  std::unordered_map<uint64_t, Process> watched_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
