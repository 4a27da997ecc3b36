// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// Tells which signals are pending for a thread of another process. The kernel
/// says that the caller of a request got a signal, but not which one: a caller
/// that is to die must be let go, one with a profiler's timer must not. The
/// answer is in /proc, which the threads that serve may not read; they ask the
/// one that is not confined.
class SignalWatch {
 public:
  /// Fails if the process has no descriptors left.
  static Result<std::unique_ptr<SignalWatch>> Make();

  /// The pending signals of `thread`, signal N as bit N - 1. Nothing if they
  /// cannot be told: for 0, a thread that cannot be seen from here, or when
  /// nobody answers within a second.
  std::optional<uint64_t> Pending(uint64_t thread);

  /// Readable while a question waits.
  int fd() const { return wake_.get(); }
  /// Answers all questions. For the thread that is not confined.
  void Answer();

 private:
  struct Question {
    explicit Question(uint64_t of) : thread(of) {}

    const uint64_t thread;
    bool answered = false;
    std::optional<uint64_t> pending;
  };

  explicit SignalWatch(Fd wake) : wake_(std::move(wake)) {}

  const Fd wake_;  // an eventfd
  Mutex mutex_;
  CondVar answered_;
  std::list<std::shared_ptr<Question>> open_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
