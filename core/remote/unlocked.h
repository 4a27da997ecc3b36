// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mutex.h"

namespace ctxfs::remote {

/// Lets go of a mutex that the caller holds, for a scope.
class CTXFS_SCOPED_CAPABILITY Unlocked {
 public:
  explicit Unlocked(Mutex& mutex) CTXFS_RELEASE(mutex) : mutex_(mutex) {
    mutex_.unlock();
  }
  ~Unlocked() CTXFS_RELEASE() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace ctxfs::remote
