// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mutex.h"

namespace ctxfs {

/// Releases a Mutex that the caller holds, and locks it again at every exit
/// from the scope.
class CTXFS_SCOPED_CAPABILITY [[nodiscard]] MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) CTXFS_RELEASE(mutex) : mutex_(mutex) {
    mutex_.unlock();
  }
  CTXFS_ANNOTATION(no_thread_safety_analysis)
  ~MutexUnlock() CTXFS_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace ctxfs
