// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/transfer_thread.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "core/remote/client/channel.h"
#include "core/remote/fetcher/answers.h"
#include "core/remote/fetcher/transfer.h"

namespace ctxfs::remote {
namespace {

using Clock = FetchJob::Clock;
using std::chrono::milliseconds;

// Maximum concurrent transfers. Those without a connection wait for one.
constexpr size_t kMaxActive = TransferThread::kMaxConnections;
constexpr milliseconds kFirstDelay(100);
constexpr milliseconds kLongestDelay(8000);
// Few attempts, so that opening fails soon if the host does not exist.
constexpr unsigned kMaxOpenAttempts = 3;

}  // namespace

TransferThread::TransferThread(int socket, const std::string& certificates,
                               const SharedSlots& slots, CacheWriter* writer)
    : socket_(socket),
      certificates_(certificates),
      slots_(slots),
      writer_(writer),
      multi_(Curl::Get().multi_init()) {
  if (multi_ == nullptr) throw std::bad_alloc();
  constexpr auto kMax = static_cast<long>(kMaxConnections);
  Curl::Get().multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, kMax);
  Curl::Get().multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kMax);
  thread_ = std::thread([this] { Run(); });
}

TransferThread::~TransferThread() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  (void)Curl::Get().multi_wakeup(multi_.get());
  thread_.join();
  // A transfer must leave the multi handle before that is freed.
  for (FetchJob& job : jobs_) Stop(job);
}

void TransferThread::Add(FetchJob job) {
  ++count_;
  {
    const MutexLock lock(mutex_);
    new_.push_back(std::move(job));
  }
  (void)Curl::Get().multi_wakeup(multi_.get());
}

bool TransferThread::TakeNew() {
  const MutexLock lock(mutex_);
  jobs_.splice(jobs_.end(), new_);
  return !ending_;
}

void TransferThread::Run() {
  while (TakeNew()) {
    StartDue();
    int running = 0;
    (void)Curl::Get().multi_perform(multi_.get(), &running);
    FinishDone();
    if (Curl::Get().multi_poll(multi_.get(), nullptr, 0, UntilNext(),
                               nullptr) != CURLM_OK) {
      broken_ = true;
      return;
    }
  }
}

int TransferThread::UntilNext() const {
  constexpr milliseconds kLongest(3600'000);
  milliseconds wait = kLongest;
  const Clock::time_point now = Clock::now();
  for (const FetchJob& job : jobs_) {
    if (job.transfer != nullptr) continue;
    if (active_ >= kMaxActive) break;
    const auto left = std::chrono::ceil<milliseconds>(job.next - now);
    wait = std::clamp(left, milliseconds(0), wait);
  }
  return static_cast<int>(wait.count());
}

void TransferThread::StartDue() {
  const Clock::time_point now = Clock::now();
  for (FetchJob& job : jobs_) {
    if (active_ >= kMaxActive) return;
    if (job.transfer == nullptr && job.next <= now) Start(job);
  }
}

void TransferThread::Start(FetchJob& job) {
  const auto left = std::max(
      milliseconds(1),
      std::chrono::duration_cast<milliseconds>(job.deadline - Clock::now()));
  job.started = Clock::now();
  job.transfer = std::make_unique<Transfer>(
      job.location, *job.settings, certificates_, job.asked, job.out, left);
  ++job.attempts;
  ++job.reply.requests;
  ++active_;
  (void)Curl::Get().multi_add_handle(multi_.get(), job.transfer->handle());
}

void TransferThread::Stop(FetchJob& job) {
  if (job.transfer == nullptr) return;
  (void)Curl::Get().multi_remove_handle(multi_.get(), job.transfer->handle());
  job.transfer.reset();
  --active_;
}

void TransferThread::FinishDone() {
  int left = 0;
  while (CURLMsg* const message =
             Curl::Get().multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode result = message->data.result;
    const auto job = std::ranges::find_if(jobs_, [easy](const FetchJob& one) {
      return one.transfer != nullptr && one.transfer->handle() == easy;
    });
    if (job != jobs_.end()) Finish(job, result);
  }
}

void TransferThread::Finish(Jobs::iterator job, CURLcode result) {
  const Result<Promise> promise = job->transfer->Finish(result);
  const std::optional<uint64_t> retry_after = job->transfer->retry_after();
  job->reply.took_us.push_back(job->Took());
  job->reply.received += job->transfer->received();
  job->reply.last_modified = job->transfer->last_modified();
  job->reply.link = job->transfer->link();
  job->reply.first_us = promise ? job->transfer->first_us() : 0;
  Stop(*job);
  if (!promise && promise.error().sys_errno == EAGAIN &&
      Delay(*job, retry_after)) {
    return;
  }
  if (promise) {
    job->reply.identity = promise->identity;
    if (job->request.page) job->reply.page_bytes = promise->length;
    uint64_t length = promise->length;
    if (job->asked.tail) {
      const uint64_t size = promise->identity.size;
      job->asked.offset = FirstOfTail(size) * kGranuleBytes;
      length = size - job->asked.offset;
    }
    Keep(*job, length);
  } else {
    Fail(*job, promise.error());
  }
  jobs_.erase(job);
  --count_;
}

bool TransferThread::Delay(FetchJob& job, std::optional<uint64_t> retry_after) {
  if (job.asked.tail) return false;
  if (!job.request.identity && !retry_after &&
      job.attempts >= kMaxOpenAttempts) {
    return false;
  }
  const unsigned doublings = std::min(job.attempts - 1, 7U);
  const milliseconds most =
      std::min(kFirstDelay * (1 << doublings), kLongestDelay);
  // Jitter: spreads the retries of clients that failed together.
  milliseconds delay(std::uniform_int_distribution<int64_t>(
      most.count() / 2, most.count())(random_));
  if (retry_after) {
    // Compared in seconds: converting a huge number would overflow.
    if (*retry_after > 3600) return false;
    delay = std::max(delay,
                     milliseconds(1000 * static_cast<int64_t>(*retry_after)));
  }
  job.next = Clock::now() + delay;
  return job.next < job.deadline;
}

void TransferThread::Keep(FetchJob& job, uint64_t length) {
  if (writer_ == nullptr) return Reply(job);
  CacheWriter::Task task;
  for (const MutableBytes granule : job.out) {
    const uint64_t bytes = std::min<uint64_t>(length, granule.size());
    if (bytes == 0) break;
    task.blocks.push_back(granule.first(static_cast<size_t>(bytes)));
    length -= bytes;
  }
  if (job.request.page) job.reply.identity = IdentityOfPage(task.blocks);
  task.key = job.CacheKey(job.reply.identity);
  task.first = job.asked.offset / kGranuleBytes;
  // A disk that refuses writes does so at once, and the reply tells it.
  if (!job.request.identity || job.request.waits_for_cache ||
      writer_->refused()) {
    return AddTask(job, std::move(task));
  }
  KeepLater(job, std::move(task));
}

void TransferThread::KeepLater(FetchJob& job, CacheWriter::Task task) {
  job.reply.kept = writer_->Reserve(task.blocks.size());
  if (!job.reply.kept) {
    job.reply.skipped = job.asked.length;
    return Reply(job);
  }
  const auto first = job.request.slots.begin() +
                     static_cast<ptrdiff_t>(task.first - job.request.first);
  task.slots.assign(first, first + static_cast<ptrdiff_t>(task.blocks.size()));
  for (const uint16_t slot : task.slots) slots_.SetBeingCached(slot, true);
  job.reply.refusal = 0;
  Reply(job);
  writer_->Add(std::move(task));
}

void TransferThread::Fail(FetchJob& job, const Error& error) {
  job.reply.error = error;
  if (writer_ == nullptr || job.request.identity || job.asked.tail ||
      error.sys_errno != ENOENT) {
    return Reply(job);
  }
  AddTask(job, {});
}

void TransferThread::AddTask(const FetchJob& job, CacheWriter::Task task) {
  if (!job.request.identity && !job.asked.tail) {
    task.record_key = AnswerKey(job.location.url);
    task.record = AnswerRecord(job.reply);
  }
  task.reply = job.reply;
  writer_->Add(std::move(task));
}

void TransferThread::Reply(const FetchJob& job) {
  if (!SendMessage(socket_, Encode(job.reply))) broken_ = true;
}

}  // namespace ctxfs::remote
