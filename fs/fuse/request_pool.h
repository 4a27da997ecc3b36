// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/interrupt.h"
#include "core/base/mutex.h"

namespace ctxfs {

/// A request of the kernel, which must be answered or refused exactly once.
class PendingRequest {
 public:
  /// Receives the news that the caller of a request got a signal.
  class Watcher {
   public:
    virtual void CallerGaveUp() = 0;

   protected:
    ~Watcher() = default;
  };

  virtual ~PendingRequest() = default;

  /// From now until Unwatch has returned, `watcher` may be called from any
  /// thread, even within Watch.
  virtual void Watch(Watcher* watcher) = 0;
  virtual void Unwatch() = 0;

  /// Computes the answer and keeps it. Must not use the kernel's request, which
  /// may be refused while this runs.
  virtual void Work(const Interrupt& interrupt) = 0;
  /// Sends the answer that Work has kept.
  virtual void Answer() = 0;
  /// Frees the answer, in the thread that ran Work.
  virtual void Drop() = 0;
  /// Sends EINTR.
  virtual void Refuse() = 0;
  /// Returns whether the caller's signal ends its request. Called in a thread
  /// of its own, and again from time to time, because the kernel reports only
  /// the first signal.
  virtual bool MayRefuse() = 0;
};

/// Works on requests that may take long, on threads of its own. The threads
/// that read from the kernel therefore always come back for the next request,
/// and for the news that a caller has given up.
///
/// A caller that gives up gets EINTR at once, whether or not its request is
/// being worked on. The work stops a moment later, because the caller may
/// repeat the request at once: a program with a profiler's timer does so at
/// each signal. The repeated request then joins the work, which would otherwise
/// start anew each time.
class RequestPool {
 public:
  struct Stats {
    uint64_t running = 0;  // requests that are being worked on now
    uint64_t queued = 0;   // requests that wait for a thread now
    uint64_t refused = 0;  // requests whose callers gave up, ever
  };

  /// An open file and the number of the thread that reads it; 0: unknown.
  struct Reader {
    uint64_t file = 0;
    uint64_t thread = 0;
    bool operator==(const Reader&) const = default;
  };

  enum class Work : uint8_t {
    kUnknown,  // took longer than the thread that got it may take
    kLarge,    // is known to take long
  };

  /// Works on `threads` requests at a time, of which a quarter is kept from
  /// large work: what is soon done does not queue behind it.
  explicit RequestPool(unsigned threads) : most_(threads) {}
  ~RequestPool() { Stop(); }
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  void Add(std::unique_ptr<PendingRequest> request, const Reader& reader,
           Work work = Work::kUnknown);

  /// `reader` closes the file, or its process has ended: refuses what it still
  /// wants of the file. Reads ahead get no other sign of that.
  void GiveUp(const Reader& reader);

  /// Refuses all requests and returns when no thread works on one any more.
  void Stop();

  Stats stats() const;

 private:
  class Job;
  using JobPtr = std::shared_ptr<Job>;

  void Signal(JobPtr job);
  void GiveUpLocked(const JobPtr& job) CTXFS_REQUIRES(mutex_);
  bool StartThreads() CTXFS_REQUIRES(mutex_);
  void RunJobs();
  /// Moves the next job that may run to running_; null if there is none.
  JobPtr TakeNext() CTXFS_REQUIRES(mutex_);
  void EndJob(const JobPtr& job) CTXFS_REQUIRES(mutex_);
  void RefuseJobs();
  /// Gives up jobs whose callers are to be let go; drops those that are over.
  void AskSignalled() CTXFS_REQUIRES(mutex_);
  void RefuseOne() CTXFS_REQUIRES(mutex_);

  const unsigned most_;
  std::atomic<bool> stop_ = false;  // written under mutex_
  mutable Mutex mutex_;
  CondVar to_run_;
  CondVar to_refuse_;
  std::list<JobPtr> queued_ CTXFS_GUARDED_BY(mutex_);
  std::list<JobPtr> running_ CTXFS_GUARDED_BY(mutex_);
  std::list<JobPtr> signalled_ CTXFS_GUARDED_BY(mutex_);  // to be asked about
  std::list<JobPtr> given_up_ CTXFS_GUARDED_BY(mutex_);   // to be refused
  unsigned large_ CTXFS_GUARDED_BY(mutex_) = 0;           // of running_
  unsigned idle_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ CTXFS_GUARDED_BY(mutex_) = 0;
  std::thread refuser_ CTXFS_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
