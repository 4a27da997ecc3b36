// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/cache/block_store.h"
#include "core/remote/client/messages.h"
#include "core/remote/client/shared_slots.h"

namespace ctxfs::remote {

/// Writes fetched data to the cache in a background thread, while the next data
/// are received and these are read. Another thread evicts; nothing waits for
/// it. If the disk cannot follow, data are not cached.
class CacheWriter {
 public:
  /// Blocks of an object and a record. The memory of the blocks must stay
  /// unchanged until `reply` is sent or, without a reply, while the slots are
  /// marked as being cached. Keys are those of BlockStore.
  struct Task {
    std::string key;
    uint64_t first = 0;
    std::vector<Bytes> blocks;
    std::string record_key;  // empty: no record
    std::string record;
    std::optional<FetchReply> reply;  // sent when all is stored
    std::vector<uint16_t> slots;      // of the blocks; only without a reply
  };

  /// Sends replies to `socket`, which is SOCK_SEQPACKET.
  CacheWriter(BlockStore& cache, const SharedSlots& slots, int socket);
  /// Returns when all tasks are done.
  ~CacheWriter();
  CacheWriter(const CacheWriter&) = delete;
  CacheWriter& operator=(const CacheWriter&) = delete;

  void Add(Task task);
  /// Reserves room for a task without a reply, which must be added then.
  /// Returns false if too much waits to be written.
  bool Reserve(size_t blocks);
  /// Whether the disk of the cache refuses writes.
  bool refused() const { return cache_.refusal() != 0; }
  /// Whether a reply could not be sent.
  bool broken() const { return broken_; }

 private:
  void Run();
  /// Stores the data of a task, and sends its reply.
  void Do(Task& task);
  /// Stores a record. While the cache is empty, up to 100 records of absent
  /// objects are delayed until the cache gets something else, so that a URL
  /// that fails leaves an empty cache empty.
  void StoreRecord(Task& task);
  void RunMakeRoom();

  BlockStore& cache_;
  const SharedSlots& slots_;
  const int socket_;
  Mutex mutex_;
  CondVar changed_;
  CondVar written_;
  std::deque<Task> tasks_ CTXFS_GUARDED_BY(mutex_);
  size_t reserved_ CTXFS_GUARDED_BY(mutex_) = 0;  // blocks
  bool wrote_ CTXFS_GUARDED_BY(mutex_) = false;   // since the last eviction
  bool ending_ CTXFS_GUARDED_BY(mutex_) = false;
  std::atomic<bool> broken_ = false;
  // Used by thread_ alone:
  bool used_ = false;                               // the cache has objects
  std::map<std::string, std::string> absent_ = {};  // delayed records by key
  std::thread thread_;  // last: threads use the other members
  std::thread room_;
};

}  // namespace ctxfs::remote
