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

/// A request of the kernel, to be answered or refused exactly once.
class PendingRequest {
 public:
  /// Is notified when the caller of a request gets a signal.
  class Watcher {
   public:
    virtual void CallerGaveUp() = 0;

   protected:
    ~Watcher() = default;
  };

  virtual ~PendingRequest() = default;

  /// Until Unwatch returns, any thread may call `watcher`, even during Watch.
  virtual void Watch(Watcher* watcher) = 0;
  virtual void Unwatch() = 0;

  /// Computes and stores the answer. Must not use the kernel's request, which
  /// may be refused meanwhile.
  virtual void Work(const Interrupt& interrupt) = 0;
  /// Sends the answer computed by Work.
  virtual void Answer() = 0;
  /// Frees the answer, in the thread that ran Work.
  virtual void Drop() = 0;
  virtual void Refuse() = 0;
  /// Returns whether the caller's signal cancels its request. Runs in a thread
  /// of its own, and repeatedly, because the kernel reports only the first
  /// signal.
  virtual bool MayRefuse() = 0;
};

/// Threads for long requests, so that the threads that read from the kernel are
/// soon back to receive requests and interrupts.
///
/// A caller that gives up gets EINTR at once, even while its request is being
/// worked on. The work continues for kMomentNs: a program with a profiler's
/// timer repeats an interrupted request at once, and the repeated request joins
/// the work instead of restarting it.
class RequestPool {
 public:
  struct Stats {
    uint64_t running = 0;  // being worked on
    uint64_t queued = 0;   // waiting for a thread
    uint64_t refused = 0;  // total number that callers gave up
  };

  /// An open file and the number of the thread that reads it; 0: unknown.
  struct Reader {
    uint64_t file = 0;
    uint64_t thread = 0;
    bool operator==(const Reader&) const = default;
  };

  enum class Work : uint8_t {
    kUnknown,  // exceeded the limit of BriefInterrupt
    kLarge,    // known to take long
  };

  /// Works on `threads` requests at a time. A quarter of the threads takes no
  /// large work, so that short work does not queue behind it.
  explicit RequestPool(unsigned threads) : most_(threads) {}
  ~RequestPool() { Stop(); }
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  void Add(std::unique_ptr<PendingRequest> request, const Reader& reader,
           Work work = Work::kUnknown);

  /// Refuses the pending requests of `reader`. Must be called when it closes
  /// the file. Nothing else ends its read-ahead requests: no thread waits for
  /// these, so the kernel sends no interrupt.
  void GiveUp(const Reader& reader);
  /// Like GiveUp, for all files that `thread` reads. Must be called when the
  /// thread has died.
  void GiveUpAllOf(uint64_t thread);

  /// Refuses all requests and waits for the threads to finish.
  void Stop();

  Stats stats() const;

 private:
  class Job;
  using JobPtr = std::shared_ptr<Job>;

  void Signal(JobPtr job);
  void GiveUpLocked(const JobPtr& job) CTXFS_REQUIRES(mutex_);
  template <typename Wanted>
  void GiveUpIf(const Wanted& wanted);
  bool StartThreads() CTXFS_REQUIRES(mutex_);
  void RunJobs();
  /// Moves the next runnable job to running_; null if there is none.
  JobPtr TakeNext() CTXFS_REQUIRES(mutex_);
  void EndJob(const JobPtr& job) CTXFS_REQUIRES(mutex_);
  void RefuseJobs();
  /// Checks the jobs in signalled_. Gives up those whose caller got a signal
  /// that cancels the request (MayRefuse), and removes these and finished jobs
  /// from signalled_. If only undecided jobs are left, waits up to 50 ms.
  void AskSignalled() CTXFS_REQUIRES(mutex_);
  void RefuseOne() CTXFS_REQUIRES(mutex_);

  const unsigned most_;
  std::atomic<bool> stop_ = false;  // written under mutex_
  mutable Mutex mutex_;
  CondVar to_run_;
  CondVar to_refuse_;
  std::list<JobPtr> queued_ CTXFS_GUARDED_BY(mutex_);
  std::list<JobPtr> running_ CTXFS_GUARDED_BY(mutex_);
  std::list<JobPtr> signalled_ CTXFS_GUARDED_BY(mutex_);  // to be checked
  std::list<JobPtr> given_up_ CTXFS_GUARDED_BY(mutex_);   // to be refused
  unsigned large_ CTXFS_GUARDED_BY(mutex_) = 0;           // of running_
  unsigned idle_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ CTXFS_GUARDED_BY(mutex_) = 0;
  std::thread refuser_ CTXFS_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
