// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "core/base/mutex.h"
#include "core/base/seed.h"
#include "core/remote/fetcher/cache_writer.h"
#include "core/remote/fetcher/curl.h"
#include "core/remote/fetcher/fetch_job.h"

namespace ctxfs::remote {

/// Runs the transfers of jobs in a thread of its own, which replies, or has the
/// cache's writer reply, when they end. Receiving, decrypting and copying is
/// most of the work of a fetcher.
class TransferThread {
 public:
  /// Connections to servers, which are kept for the next transfer.
  static constexpr size_t kMaxConnections = 4;

  /// Sends replies to `socket`, which is SOCK_SEQPACKET. `writer` is null if
  /// nothing is kept. All arguments outlive this.
  TransferThread(int socket, const std::string& certificates,
                 CacheWriter* writer);
  /// Ends the transfers, without replies.
  ~TransferThread();
  TransferThread(const TransferThread&) = delete;
  TransferThread& operator=(const TransferThread&) = delete;

  void Add(FetchJob job);
  /// Jobs that have not ended.
  size_t jobs() const { return count_; }
  /// Whether a reply could not be sent, or libcurl failed.
  bool broken() const { return broken_; }

 private:
  using Jobs = std::list<FetchJob>;
  struct FreeMulti {
    void operator()(CURLM* multi) const { Curl::Get().multi_cleanup(multi); }
  };

  void Run();
  /// Takes the jobs that were added; false if there will be none any more.
  bool TakeNew();
  /// Milliseconds until the next attempt is due.
  int UntilNext() const;
  void StartDue();
  void Start(FetchJob& job);
  void Stop(FetchJob& job);
  void FinishDone();
  void Finish(Jobs::iterator job, CURLcode result);
  /// Sets the time of the next attempt; false if there is none before the
  /// deadline.
  bool Delay(FetchJob& job, std::optional<uint64_t> retry_after);
  /// Replies, and keeps the `length` bytes that were fetched.
  void Keep(FetchJob& job, uint64_t length);
  /// Replies with an error, and keeps it if it says that there is no such
  /// object.
  void Fail(FetchJob& job, const Error& error);
  void AddTask(const FetchJob& job, CacheWriter::Task task);
  void Reply(const FetchJob& job);

  const int socket_;
  const std::string& certificates_;
  CacheWriter* const writer_;
  const std::unique_ptr<CURLM, FreeMulti> multi_;
  std::mt19937_64 random_{RandomSeed()};
  Jobs jobs_;
  size_t active_ = 0;  // jobs with a transfer
  std::atomic<size_t> count_ = 0;
  std::atomic<bool> broken_ = false;
  Mutex mutex_;
  Jobs new_ CTXFS_GUARDED_BY(mutex_);
  bool ending_ CTXFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace ctxfs::remote
