// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Clang checks these (-Wthread-safety); libstdc++'s own mutex carries none.
#if defined(__clang__)
#define CTXFS_ANNOTATION(x) __attribute__((x))
#else
#define CTXFS_ANNOTATION(x)
#endif
#define CTXFS_CAPABILITY(x) CTXFS_ANNOTATION(capability(x))
#define CTXFS_SCOPED_CAPABILITY CTXFS_ANNOTATION(scoped_lockable)
#define CTXFS_GUARDED_BY(x) CTXFS_ANNOTATION(guarded_by(x))
#define CTXFS_REQUIRES(...) CTXFS_ANNOTATION(requires_capability(__VA_ARGS__))
#define CTXFS_ACQUIRE(...) CTXFS_ANNOTATION(acquire_capability(__VA_ARGS__))
#define CTXFS_RELEASE(...) CTXFS_ANNOTATION(release_capability(__VA_ARGS__))

namespace ctxfs {

/// std::mutex that clang's thread analysis knows about.
class CTXFS_CAPABILITY("mutex") Mutex {
 public:
  void lock() CTXFS_ACQUIRE() { mutex_.lock(); }
  void unlock() CTXFS_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope; a MutexUnlock lets go of it within.
class CTXFS_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CTXFS_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() CTXFS_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Waits on a Mutex held by the caller.
class CondVar {
 public:
  void Wait(Mutex& mutex) CTXFS_REQUIRES(mutex) { condition_.wait(mutex); }
  /// Returns after `time` at the latest.
  void WaitFor(Mutex& mutex, std::chrono::milliseconds time)
      CTXFS_REQUIRES(mutex) {
    condition_.wait_for(mutex, time);
  }
  /// Returns at `end` at the latest.
  void WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point end)
      CTXFS_REQUIRES(mutex) {
    condition_.wait_until(mutex, end);
  }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace ctxfs
