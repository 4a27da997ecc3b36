// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/request_pool.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/base/mutex_unlock.h"
#include "core/base/on_exit.h"

namespace ctxfs {
namespace {

int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// How long work continues after its caller gave up, since the caller may repeat
// the request.
constexpr int64_t kMomentNs = 250'000'000;

}  // namespace

/// A request with its state. Interrupts its work kMomentNs after the caller
/// gave up.
class RequestPool::Job final : public Interrupt,
                               public PendingRequest::Watcher,
                               public std::enable_shared_from_this<Job> {
 public:
  Job(RequestPool& pool, std::unique_ptr<PendingRequest> request,
      const Reader& reader, Work work)
      : pool_(pool),
        request_(std::move(request)),
        reader_(reader),
        work_(work) {}

  const Reader& reader() const { return reader_; }
  bool is_large() const { return work_ == Work::kLarge; }
  PendingRequest& request() { return *request_; }

  bool interrupted() const override {
    if (pool_.stop_.load(std::memory_order_relaxed)) return true;
    const int64_t at = given_up_ns_.load(std::memory_order_relaxed);
    return at != 0 && NowNs() - at >= kMomentNs;
  }
  void CallerGaveUp() override { pool_.Signal(shared_from_this()); }
  /// Marks the caller as having given up. Returns false if it was marked
  /// before.
  bool MarkGivenUp() {
    int64_t never = 0;
    if (!given_up_ns_.compare_exchange_strong(never, NowNs())) return false;
    listeners_.Tell();
    return true;
  }

  void AddListener(InterruptListener& one) const override {
    listeners_.Add(one);
  }
  void RemoveListener(InterruptListener& one) const override {
    listeners_.Remove(one);
  }
  Clock::time_point AskAgainAt() const override {
    const int64_t at = given_up_ns_.load(std::memory_order_relaxed);
    if (at == 0) return Clock::time_point::max();
    return Clock::time_point(std::chrono::nanoseconds(at + kMomentNs));
  }
  /// Called when the pool stops.
  void TellListeners() { listeners_.Tell(); }

  bool is_over() const { return over_.load(std::memory_order_relaxed); }
  void Run() {
    if (is_over()) return;
    request_->Work(*this);
    if (TakeTurn()) {
      request_->Answer();
    } else {
      request_->Drop();
    }
  }
  bool Refuse() {
    if (!TakeTurn()) return false;
    request_->Refuse();
    return true;
  }

 private:
  /// Returns true to one thread only, which answers or refuses the request.
  bool TakeTurn() {
    if (over_.exchange(true)) return false;
    request_->Unwatch();
    return true;
  }

  RequestPool& pool_;
  const std::unique_ptr<PendingRequest> request_;
  const Reader reader_;
  const Work work_;
  mutable InterruptListeners listeners_;
  std::atomic<int64_t> given_up_ns_ = 0;  // 0: not given up
  std::atomic<bool> over_ = false;
};

void RequestPool::Add(std::unique_ptr<PendingRequest> request,
                      const Reader& reader, Work work) {
  auto job = std::make_shared<Job>(*this, std::move(request), reader, work);
  job->request().Watch(job.get());
  {
    const MutexLock lock(mutex_);
    if (!stop_ && StartThreads()) {
      queued_.push_back(std::move(job));
      to_run_.NotifyAll();
      return;
    }
  }
  // No thread can start, or the mount ends, so this thread does the work.
  job->Run();
}

bool RequestPool::StartThreads() {
  try {
    if (!refuser_.joinable()) {
      refuser_ = std::thread([this] { RefuseJobs(); });
    }
    if (queued_.size() >= idle_ && workers_.size() < most_) {
      workers_.emplace_back([this] { RunJobs(); });
    }
  } catch (const std::system_error&) {
    return !workers_.empty();
  }
  return true;
}

RequestPool::JobPtr RequestPool::TakeNext() {
  const bool large_may_run = large_ < most_ - most_ / 4;
  const auto next = std::find_if(
      queued_.begin(), queued_.end(),
      [&](const JobPtr& job) { return large_may_run || !job->is_large(); });
  if (next == queued_.end()) return nullptr;
  running_.splice(running_.end(), queued_, next);
  if (running_.back()->is_large()) ++large_;
  return running_.back();
}

void RequestPool::EndJob(const JobPtr& job) {
  running_.remove(job);
  if (job->is_large()) --large_;
}

void RequestPool::RunJobs() {
  const MutexLock lock(mutex_);
  while (!stop_) {
    JobPtr job = TakeNext();
    if (job == nullptr) {
      ++idle_;
      to_run_.Wait(mutex_);
      --idle_;
      continue;
    }
    {
      const OnExit end([&]() CTXFS_REQUIRES(mutex_) { EndJob(job); });
      const MutexUnlock unlocked(mutex_);
      job->Run();
    }
    const MutexUnlock unlocked(mutex_);
    job.reset();  // may close a container
  }
}

void RequestPool::RefuseJobs() {
  const MutexLock lock(mutex_);
  while (!stop_ || !given_up_.empty()) {
    if (!given_up_.empty()) {
      RefuseOne();
    } else if (signalled_.empty()) {
      to_refuse_.Wait(mutex_);
    } else {
      AskSignalled();
    }
  }
}

void RequestPool::RefuseOne() {
  JobPtr job = std::move(given_up_.front());
  given_up_.pop_front();
  queued_.remove(job);
  bool refused = false;
  {
    const MutexUnlock unlocked(mutex_);
    refused = job->Refuse();
    job.reset();
  }
  if (refused) ++refused_;
}

void RequestPool::AskSignalled() {
  constexpr std::chrono::milliseconds kMoment(50);
  const std::list<JobPtr> asked = signalled_;
  for (const JobPtr& job : asked) {
    bool may = false;
    {
      const MutexUnlock unlocked(mutex_);
      may = !job->is_over() && job->request().MayRefuse();
    }
    if (may) GiveUpLocked(job);
    if (may || job->is_over()) signalled_.remove(job);
  }
  if (given_up_.empty() && !signalled_.empty() && !stop_) {
    to_refuse_.WaitFor(mutex_, kMoment);
  }
}

void RequestPool::Signal(JobPtr job) {
  const MutexLock lock(mutex_);
  signalled_.push_back(std::move(job));
  to_refuse_.NotifyAll();
}

void RequestPool::GiveUpLocked(const JobPtr& job) {
  if (!job->MarkGivenUp()) return;
  given_up_.push_back(job);
  to_refuse_.NotifyAll();
}

template <typename Wanted>
void RequestPool::GiveUpIf(const Wanted& wanted) {
  const MutexLock lock(mutex_);
  for (const std::list<JobPtr>* jobs : {&queued_, &running_}) {
    for (const JobPtr& job : *jobs) {
      if (wanted(job->reader())) GiveUpLocked(job);
    }
  }
}

void RequestPool::GiveUp(const Reader& reader) {
  if (reader.file == 0 || reader.thread == 0) return;
  GiveUpIf([&](const Reader& other) { return other == reader; });
}

void RequestPool::GiveUpAllOf(uint64_t thread) {
  if (thread == 0) return;
  GiveUpIf([thread](const Reader& other) {
    return other.file != 0 && other.thread == thread;
  });
}

void RequestPool::Stop() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    for (const std::list<JobPtr>* jobs : {&queued_, &running_}) {
      for (const JobPtr& job : *jobs) {
        GiveUpLocked(job);
        job->TellListeners();
      }
    }
    to_run_.NotifyAll();
    to_refuse_.NotifyAll();
    threads.swap(workers_);
    if (refuser_.joinable()) threads.push_back(std::move(refuser_));
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(mutex_);
  queued_.clear();
  signalled_.clear();
}

RequestPool::Stats RequestPool::stats() const {
  const MutexLock lock(mutex_);
  return {running_.size(), queued_.size(), refused_};
}

}  // namespace ctxfs
