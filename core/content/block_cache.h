// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/block.h"

namespace ctxfs {

class SpillFile;
class SpillStore;

/// The one bounded cache of produced bytes, and the place where threads wait
/// for the same work: work of one key runs once at a time, without a lock, and
/// serves all requests that wait for it. Consumed blocks (MarkConsumed) are
/// evicted first, then the least recently used block.
///
/// An interrupted request stops waiting. The work that it runs stops, too,
/// unless another request that is not interrupted waits for it.
///
/// `budget` bounds the sum of cached blocks, blocks in production and, up to
/// half of it, leases (Lend). A block larger than the budget is produced when
/// nothing else is, and stays cached alone until another replaces it: otherwise
/// every read of it would produce it again.
///
/// Work may read other blocks through the cache: a container can be a block of
/// another container. Threads cannot deadlock:
///  - Blocks do not depend on each other in a cycle, so a thread never waits
///    for work that waits for it.
///  - A thread reserves memory before its work begins, so it holds none while
///    it waits. Only a thread with nested work holds memory while it waits. It
///    waits only while some thread runs that waits for nothing. If there is
///    none, the thread with the largest reservation continues and exceeds the
///    budget.
/// The last block that work has read stays in memory, up to
/// limits::kNestedBytes, even beyond the budget. The next work mostly reads it,
/// too, so a reader of a whole nested container decodes the outer block once,
/// however small the cache.
///
/// Invariants under mutex_:
///  - kept_ and by_key_ have the same blocks, each key once. stats_.bytes is
///    the sum of their sizes; consumed_bytes_ that of the consumed ones, which
///    are at the end of kept_.
///  - running_ has a key from Enter to Leave. in_production_ is the sum of the
///    reservations of running work.
///  - working_ counts the threads that run work and are not Waiting.
///  - short_of_memory_ has an entry for each thread that waits for memory.
class BlockCache {
 public:
  struct Stats {
    uint64_t bytes = 0;      // cached now
    uint64_t blocks = 0;     // cached now
    uint64_t hits = 0;       // Gets served from memory
    uint64_t produced = 0;   // bytes produced, ever
    uint64_t evictions = 0;  // blocks evicted, ever
    uint64_t passed = 0;     // verifications, ever
    uint64_t failed = 0;
    uint64_t spilled = 0;  // bytes in temporary files now
    uint64_t waiting = 0;  // requests that wait for others' work, now
  };

  using Pinned = std::shared_ptr<const Buffer>;

  explicit BlockCache(uint64_t budget);
  ~BlockCache();

  /// Sets the file for blocks that exceed the budget and can be streamed; null
  /// for none. Must be called before the first request.
  void SpillTo(std::shared_ptr<SpillFile> file);

  /// The store for the bytes of `block`; null if the block belongs in memory.
  SpillStore* StoreOf(const Block& block) const;

  /// Maximum bytes of memory.
  uint64_t budget() const { return budget_; }

  /// The block's bytes, cached or produced now. Failures are not cached: the
  /// next Get retries.
  Result<Pinned> Get(const Block& block, const ReadContext& context);

  /// The block's bytes if they are cached, else null.
  Pinned FindKept(const Block& block);

  /// Marks the blocks of `keys` that are in memory, and not consumed, as most
  /// recently used.
  void Touch(std::span<const Key> keys);

  /// Runs `work` unless `done` already holds. Meanwhile other requests with the
  /// same key wait, and then test `done` again. `done` is called under the
  /// mutex of the cache. The context of `work` is interrupted, for good, once
  /// `context` and all waiting requests are. `memory` bytes are reserved for
  /// `work`.
  Status Once(Key key, const ReadContext& context,
              const std::function<bool()>& done,
              const std::function<Status(const ReadContext&)>& work,
              uint64_t memory = 0);

  /// Memory outside of the cache that counts against its budget. Such memory
  /// takes precedence over blocks, up to half of the budget.
  using Lease = std::shared_ptr<const void>;
  /// Counts `bytes` until the lease is destroyed. Fails with kNoMemory if the
  /// sum of leases would exceed both half of the budget and 8 MiB. A lease that
  /// is the only one may exceed both.
  Result<Lease> Lend(uint64_t bytes);

  void CountVerdict(Verdict verdict);

  /// Tells the cache that the reader has read all of the block. The kernel has
  /// the bytes in its page cache, so a block of 1 MiB or more is among the
  /// first to be evicted, and the next block reuses its memory.
  void MarkConsumed(const Block& block);

  /// Evicts every block. Slices that were handed out stay valid.
  void Drop();

  Stats stats() const;

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>(key.owner * 0x9E3779B97F4A7C15U ^ key.index);
    }
  };
  struct Kept {
    Key key;
    Pinned bytes;
    bool consumed = false;
  };

  /// Work for one request, for which others may wait.
  struct Running {
    std::thread::id thread = std::this_thread::get_id();
    uint64_t memory = 0;  // bytes reserved; under mutex_
    bool inner = false;   // nested in other work
    bool running = true;  // under mutex_
    std::atomic<uint32_t> waiting = 0;
    InterruptListeners listeners = {};  // of waits within the work
  };
  class SharedWork;

  /// Marks `key` as running and reserves `memory`, after waiting for the thread
  /// that runs the key, if any, and for room. Returns null once `done` holds,
  /// and kInterrupted if `context` is interrupted or may not start work of
  /// `bytes` bytes.
  Result<std::shared_ptr<Running>> Enter(Key key, uint64_t memory,
                                         uint64_t bytes,
                                         const ReadContext& context,
                                         const std::function<bool()>& done)
      CTXFS_REQUIRES(mutex_);
  void Leave(Key key) CTXFS_REQUIRES(mutex_);
  /// Releases the reservation.
  void Release(Running& running) CTXFS_REQUIRES(mutex_);
  /// Returns whether this thread is running work.
  bool Works() const CTXFS_REQUIRES(mutex_);
  /// Bytes reserved for the work that this thread runs.
  uint64_t Held() const CTXFS_REQUIRES(mutex_);
  /// Whether work that takes `memory` may begin. `works`: whether it is nested
  /// in other work of this thread. `counts`: whether working_ includes that
  /// other work.
  bool MayBegin(uint64_t memory, bool works, bool counts) const
      CTXFS_REQUIRES(mutex_);
  class Waiting;
  class ShortOfMemory;
  /// Waits until `other` is finished, or until an interrupt of `waiting`.
  void Await(const std::shared_ptr<Running>& other, Waiting& waiting)
      CTXFS_REQUIRES(mutex_);
  /// The cached bytes of `key`, counted as a hit; null on a cache miss.
  Pinned TakeKept(Key key) CTXFS_REQUIRES(mutex_);
  Result<Pinned> Find(const Block& block, const ReadContext& context)
      CTXFS_REQUIRES(mutex_);
  /// Unlocks the mutex while the block is being produced.
  Result<Pinned> ProduceAndKeep(const Block& block, const ReadContext& context,
                                Running& running) CTXFS_REQUIRES(mutex_);
  /// Bytes of the budget that are neither reserved for production nor lent;
  /// leases count up to half of the budget.
  uint64_t Room() const CTXFS_REQUIRES(mutex_);
  void EvictTo(uint64_t bytes) CTXFS_REQUIRES(mutex_);
  /// Evicts a block, and returns the next one in kept_.
  std::list<Kept>::iterator Evict(std::list<Kept>::iterator kept)
      CTXFS_REQUIRES(mutex_);

  const uint64_t budget_;
  // Shared, because a Lease may outlive the cache.
  const std::shared_ptr<std::atomic<uint64_t>> lent_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  std::unique_ptr<SpillStore> spill_;  // null: everything is in memory
  mutable Mutex mutex_;
  CondVar changed_;
  std::unordered_map<Key, std::shared_ptr<Running>, KeyHash> running_
      CTXFS_GUARDED_BY(mutex_);
  std::list<Kept> kept_ CTXFS_GUARDED_BY(mutex_);  // most recent first
  std::unordered_map<Key, std::list<Kept>::iterator, KeyHash> by_key_
      CTXFS_GUARDED_BY(mutex_);
  uint64_t consumed_bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t in_production_ CTXFS_GUARDED_BY(mutex_) = 0;  // reserved bytes
  // Threads that run work; those that wait in Enter are not counted.
  uint64_t working_ CTXFS_GUARDED_BY(mutex_) = 0;
  // Reserved bytes of each thread that waits for memory.
  std::multiset<uint64_t> short_of_memory_ CTXFS_GUARDED_BY(mutex_);
  std::optional<Key> base_ CTXFS_GUARDED_BY(mutex_);  // last read by work
  Stats stats_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
