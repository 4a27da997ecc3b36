// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/cache/block_store.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Keeps what was fetched, in a thread of its own: what comes next is received
/// meanwhile. Another one makes room in the cache, for which nothing waits. The
/// reply to a request leaves when its blocks are kept, so a
/// process that has read something finds it in the cache.
class CacheWriter {
 public:
  /// Blocks of an object, in memory that stays as it is until `reply` is sent,
  /// and a record. Keys are BlockStore's.
  struct Task {
    std::string key;
    uint64_t first = 0;
    std::vector<Bytes> blocks;
    std::string record_key;  // empty: there is no record
    std::string record;
    FetchReply reply;
  };

  /// Sends replies to `socket`, which is SOCK_SEQPACKET.
  CacheWriter(BlockStore& cache, int socket);
  /// Returns when all tasks are done.
  ~CacheWriter();
  CacheWriter(const CacheWriter&) = delete;
  CacheWriter& operator=(const CacheWriter&) = delete;

  void Add(Task task);
  /// Whether a reply could not be sent.
  bool broken() const { return broken_; }

 private:
  void Run();
  /// Writes what a task has, and replies.
  void Do(Task& task);
  void RunMakeRoom();

  BlockStore& cache_;
  const int socket_;
  Mutex mutex_;
  CondVar changed_;
  CondVar written_;
  std::deque<Task> tasks_ CTXFS_GUARDED_BY(mutex_);
  bool wrote_ CTXFS_GUARDED_BY(mutex_) = false;  // since room was made
  bool ending_ CTXFS_GUARDED_BY(mutex_) = false;
  std::atomic<bool> broken_ = false;
  std::thread thread_;  // these last: they use the others
  std::thread room_;
};

}  // namespace ctxfs::remote
