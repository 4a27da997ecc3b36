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

/// Runs the transfers of jobs in a background thread. At their end it sends the
/// replies, or passes them to the cache's writer. Receiving, decrypting and
/// copying is most of the work of a fetcher.
class TransferThread {
 public:
  /// Maximum connections to servers. They stay open for the next transfer.
  static constexpr size_t kMaxConnections = 16;

  /// Sends replies to `socket`, which is SOCK_SEQPACKET. `writer` is null
  /// without a cache. All arguments must outlive this object.
  TransferThread(int socket, const std::string& certificates,
                 const SharedSlots& slots, CacheWriter* writer);
  /// Stops the transfers, without replies.
  ~TransferThread();
  TransferThread(const TransferThread&) = delete;
  TransferThread& operator=(const TransferThread&) = delete;

  void Add(FetchJob job);
  /// Number of unfinished jobs.
  size_t jobs() const { return count_; }
  /// Whether a reply could not be sent, or libcurl failed.
  bool broken() const { return broken_; }

 private:
  using Jobs = std::list<FetchJob>;
  struct FreeMulti {
    void operator()(CURLM* multi) const { Curl::Get().multi_cleanup(multi); }
  };

  void Run();
  /// Takes over the jobs that were added. Returns false once no more will come.
  bool TakeNew();
  /// Milliseconds until the next retry is due.
  int UntilNext() const;
  void StartDue();
  void Start(FetchJob& job);
  void Stop(FetchJob& job);
  void FinishDone();
  void Finish(Jobs::iterator job, CURLcode result);
  /// Schedules the next retry, after `retry_after` seconds or more. Returns
  /// false if there is no retry: for a tail, after too many attempts to open an
  /// object if `retry_after` is not set, for a `retry_after` of more than an
  /// hour, or if the deadline is earlier.
  bool Delay(FetchJob& job, std::optional<uint64_t> retry_after);
  /// Replies, and stores the `length` fetched bytes.
  void Keep(FetchJob& job, uint64_t length);
  /// Replies to a request for granules at once, and stores them if the cache
  /// can follow.
  void KeepLater(FetchJob& job, CacheWriter::Task task);
  /// Replies with an error, and caches it if the object does not exist.
  void Fail(FetchJob& job, const Error& error);
  void AddTask(const FetchJob& job, CacheWriter::Task task);
  void Reply(const FetchJob& job);

  const int socket_;
  const std::string& certificates_;
  const SharedSlots& slots_;
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
  std::thread thread_;  // last: it uses the other members
};

}  // namespace ctxfs::remote
