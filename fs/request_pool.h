// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/interrupt.h"
#include "core/base/mutex.h"

namespace ctxfs {

/// A kernel request that has to be answered exactly once. Its functions are
/// called by one thread at a time.
class PendingRequest {
 public:
  virtual ~PendingRequest() = default;

  /// Calls `given_up` from any thread, perhaps at once, when the caller gets a
  /// signal; until Unwatch returns.
  virtual void Watch(std::function<void()> given_up) = 0;
  virtual void Unwatch() = 0;

  /// Computes the answer and keeps it. Does not touch the request itself, which
  /// may have been refused meanwhile.
  virtual void Work(const Interrupt& interrupt) = 0;
  /// Sends the answer that Work has kept.
  virtual void Answer() = 0;
  /// Sends EINTR instead.
  virtual void Refuse() = 0;
};

/// Runs requests that may take long on threads of its own. The threads that
/// read from the kernel are thereby always free for the next request and for
/// the message that a caller has given up.
///
/// A caller that gets a signal is refused at once, whatever the work does. The
/// work itself goes on for a moment: a caller that handles signals asks again
/// at once, and would never get an answer if each signal undid all the work.
class RequestPool {
 public:
  struct Stats {
    uint64_t running = 0;   // requests being worked on, now
    uint64_t queued = 0;    // requests that wait for a thread, now
    uint64_t refused = 0;   // requests whose callers gave up, ever
  };

  /// Who reads a file: an open file and a thread of the system. 0: unknown.
  struct Reader {
    uint64_t file = 0;
    uint64_t thread = 0;
    bool operator==(const Reader&) const = default;
  };

  /// At most `threads` requests are worked on at a time.
  explicit RequestPool(unsigned threads) : most_(threads) {}
  ~RequestPool() { Stop(); }
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  void Add(std::unique_ptr<PendingRequest> request, const Reader& reader);

  /// A thread closes a file: nobody waits for what it had asked of it.
  void GiveUp(const Reader& reader);

  /// Refuses all requests and waits until their work has stopped.
  void Stop();

  Stats stats() const;

 private:
  class Job;
  using JobPtr = std::shared_ptr<Job>;

  void GiveUp(const JobPtr& job);
  void Work();
  void Refuse();
  void Run(Job& job);
  void StartThread() CTXFS_REQUIRES(mutex_);

  const unsigned most_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::list<JobPtr> queued_ CTXFS_GUARDED_BY(mutex_);
  std::list<JobPtr> running_ CTXFS_GUARDED_BY(mutex_);
  std::list<JobPtr> to_refuse_ CTXFS_GUARDED_BY(mutex_);
  unsigned idle_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ CTXFS_GUARDED_BY(mutex_) = 0;
  bool stop_ CTXFS_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
