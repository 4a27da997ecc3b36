// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/block.h"

namespace ctxfs {

class SpillFile;
class SpillStore;

/// The one bounded store of produced bytes, and the one place where threads
/// wait for each other: work of one key runs once at a time, without a lock,
/// and serves all who wait for it. The least recently used block goes first.
///
/// A request that is interrupted stops waiting. Work that it runs itself stops
/// too, unless another request that is not interrupted waits for it.
///
/// `budget` bounds kept blocks plus those being produced. A block larger than
/// the budget is produced when nothing else is, and kept alone until another
/// takes its place: a reader of it would else produce it at every read.
///
/// Work may read other blocks through the cache: a container can be a block of
/// another container. Threads cannot deadlock:
///  - Blocks do not depend on each other in a circle, so a thread never waits
///    for work that waits for it.
///  - A thread reserves memory before its work begins, and holds none while it
///    waits. Nested work, whose thread already holds some, waits only while a
///    thread is running that waits for nothing. If there is none, the thread
///    with the largest reservation goes on and exceeds the budget.
/// The block that work has read last stays in memory, up to
/// limits::kNestedBytes, even if that exceeds the budget. The next work mostly
/// reads it too, so that a reader of a whole nested container has its outer
/// block decoded once, however small the cache.
///
/// Under mutex_ it holds:
///  - kept_ and by_key_ have the same blocks, each key once. stats_.bytes is
///    the sum of their sizes; consumed_bytes_ that of the consumed ones, which
///    are at the end of kept_.
///  - running_ has a key from Enter to Leave. in_production_ is the sum of what
///    its work has reserved.
///  - working_ counts the threads that run such work and are not Waiting.
///  - short_of_memory_ has an entry for each thread that waits for memory.
class BlockCache {
 public:
  struct Stats {
    uint64_t bytes = 0;      // kept now
    uint64_t blocks = 0;     // kept now
    uint64_t hits = 0;       // Gets answered from memory
    uint64_t produced = 0;   // bytes produced, ever
    uint64_t evictions = 0;  // blocks let go, ever
    uint64_t passed = 0;     // verifications, ever
    uint64_t failed = 0;
    uint64_t spilled = 0;  // bytes in temporary files now
    uint64_t waiting = 0;  // requests that wait for the work of another, now
  };

  using Pinned = std::shared_ptr<const Buffer>;

  explicit BlockCache(uint64_t budget);
  ~BlockCache();

  /// Sets the file for blocks that are larger than the budget and can be made
  /// in pieces; null for none. Called before the first request.
  void SpillTo(std::shared_ptr<SpillFile> file);

  /// The store that has the bytes of `block`; null if they are in memory.
  SpillStore* StoreOf(const Block& block) const;

  /// Bytes of memory that it may take.
  uint64_t budget() const { return budget_; }

  /// The block's bytes, from memory or produced now. Failures are not kept:
  /// the next Get tries again.
  Result<Pinned> Get(const Block& block, const ReadContext& context);

  /// The block's bytes if they are in memory, else null.
  Pinned FindKept(const Block& block);

  /// Runs `work` unless `done` already holds; while it runs, others with the
  /// same key wait, and then ask `done` again. `work` gets a context that is
  /// interrupted only while `context` and all who wait are.
  /// `memory` is what it takes, and is kept free for it.
  Status Once(Key key, const ReadContext& context,
              const std::function<bool()>& done,
              const std::function<Status(const ReadContext&)>& work,
              uint64_t memory = 0);

  /// Memory outside of the cache that counts against its budget. It takes
  /// precedence over blocks, up to half of the budget.
  using Lease = std::shared_ptr<const void>;
  /// Counts `bytes` until the lease is destroyed. Fails with kNoMemory if all
  /// leases would exceed that half and 8 MiB; a single lease may exceed both.
  Result<Lease> Lend(uint64_t bytes);

  /// Counts a verification's outcome.
  void CountVerdict(Verdict verdict);

  /// Tells the cache that the reader has all of the block. The kernel keeps the
  /// bytes in its page cache, so the block is evicted first, and its memory
  /// serves the next one.
  void MarkConsumed(const Block& block);

  /// Forgets every kept block. Slices already handed out stay valid.
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

  /// Work that is being done for one request while others wait for it.
  struct Running {
    std::thread::id thread = std::this_thread::get_id();
    uint64_t memory = 0;  // bytes reserved; under mutex_
    bool inner = false;   // whether it is within other work
    bool running = true;  // under mutex_
    std::atomic<uint32_t> waiting = 0;
    InterruptListeners listeners = {};  // waits within the work
  };
  class SharedWork;

  /// Marks `key` as running and reserves `memory`, after waiting for both: for
  /// the thread that runs it, if any, and for room. Returns null as soon as
  /// `done` holds, kInterrupted if `context` is or may not take work of `bytes`
  /// bytes.
  Result<std::shared_ptr<Running>> Enter(Key key, uint64_t memory,
                                         uint64_t bytes,
                                         const ReadContext& context,
                                         const std::function<bool()>& done)
      CTXFS_REQUIRES(mutex_);
  void Leave(Key key) CTXFS_REQUIRES(mutex_);
  /// Ends the reservation.
  void Release(Running& running) CTXFS_REQUIRES(mutex_);
  /// Returns whether the caller is within work that this thread runs.
  bool Works() const CTXFS_REQUIRES(mutex_);
  /// Bytes reserved for work that this thread runs.
  uint64_t Held() const CTXFS_REQUIRES(mutex_);
  /// Whether work that takes `memory` may begin; `works`: within other work of
  /// this thread, which `counts` in working_.
  bool MayBegin(uint64_t memory, bool works, bool counts) const
      CTXFS_REQUIRES(mutex_);
  class Waiting;
  class ShortOfMemory;
  /// Waits until `other` has ended, or the interrupt of `waiting`.
  void Await(const std::shared_ptr<Running>& other, Waiting& waiting)
      CTXFS_REQUIRES(mutex_);
  /// The bytes kept for `key`, counted as a hit; null if there are none.
  Pinned TakeKept(Key key) CTXFS_REQUIRES(mutex_);
  Result<Pinned> Find(const Block& block, const ReadContext& context)
      CTXFS_REQUIRES(mutex_);
  /// Lets go of the lock while the block is being produced.
  Result<Pinned> ProduceAndKeep(const Block& block, const ReadContext& context,
                                Running& running) CTXFS_REQUIRES(mutex_);
  /// Bytes of the budget that are not reserved for production.
  uint64_t Room() const CTXFS_REQUIRES(mutex_);
  void EvictTo(uint64_t bytes) CTXFS_REQUIRES(mutex_);
  /// Evicts a block, and returns the next older one.
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
  uint64_t working_ CTXFS_GUARDED_BY(mutex_) =
      0;  // threads, without waiting ones
  // Bytes that each thread that waits for memory has reserved.
  std::multiset<uint64_t> short_of_memory_ CTXFS_GUARDED_BY(mutex_);
  std::optional<Key> base_ CTXFS_GUARDED_BY(mutex_);  // last read by work
  Stats stats_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
