// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

// Annotations that clang checks (-Wthread-safety). Mutex exists because the
// mutex of libstdc++ has none.
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

/// A std::mutex with annotations for clang's thread analysis.
class CTXFS_CAPABILITY("mutex") Mutex {
 public:
  void lock() CTXFS_ACQUIRE() { mutex_.lock(); }
  void unlock() CTXFS_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope, except within a MutexUnlock.
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

/// A condition variable for a Mutex that the waiting caller holds. So that no
/// notification is missed, the condition must change only under that Mutex, or
/// the waiter must take a Ticket before it tests the condition.
class CondVar {
 public:
  using Clock = std::chrono::steady_clock;
  /// Counts notifications: a wait with a Ticket returns at once if one was sent
  /// after the Ticket was taken.
  using Ticket = uint64_t;

  Ticket TakeTicket() const {
    const std::lock_guard lock(own_);
    return notified_;
  }
  void Wait(Mutex& mutex) CTXFS_REQUIRES(mutex) {
    WaitUntil(mutex, Clock::time_point::max(), TakeTicket());
  }
  /// Returns after `time` at the latest.
  void WaitFor(Mutex& mutex, std::chrono::milliseconds time)
      CTXFS_REQUIRES(mutex) {
    WaitUntil(mutex, Clock::now() + time, TakeTicket());
  }
  /// Returns at `end` at the latest.
  void WaitUntil(Mutex& mutex, Clock::time_point end) CTXFS_REQUIRES(mutex) {
    WaitUntil(mutex, end, TakeTicket());
  }
  void WaitUntil(Mutex& mutex, Clock::time_point end, Ticket ticket)
      CTXFS_REQUIRES(mutex) CTXFS_ANNOTATION(no_thread_safety_analysis) {
    std::unique_lock lock(own_);
    const auto notified = [&] { return notified_ != ticket; };
    mutex.unlock();
    if (end == Clock::time_point::max()) {
      condition_.wait(lock, notified);
    } else {
      condition_.wait_until(lock, end, notified);
    }
    lock.unlock();  // first, because notifiers may lock own_ under `mutex`
    mutex.lock();
  }
  void NotifyAll() {
    {
      const std::lock_guard lock(own_);
      ++notified_;
    }
    condition_.notify_all();
  }

 private:
  mutable std::mutex own_;
  std::condition_variable condition_;
  Ticket notified_ = 0;  // under own_
};

}  // namespace ctxfs
