// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/block.h"
#include "core/content/block_cache.h"
#include "core/io/spill_file.h"

namespace ctxfs {

/// Stores blocks that are too large for the BlockCache in a temporary file.
/// Each block is decoded once, in pieces, and verified before any byte is
/// served. The least recently used block is evicted first, but a block that is
/// being read stays for at least four times the time that its decoding took.
/// Readers of more blocks than fit therefore take turns, instead of decoding a
/// block for every read. Safe for any number of threads.
///
/// Invariant: kept_ has each block at most once, whole and verified, because
/// each block is decoded within BlockCache::Once with its key.
class SpillStore {
 public:
  using Pinned = std::shared_ptr<const SpillFile::Part>;

  explicit SpillStore(std::shared_ptr<SpillFile> file)
      : file_(std::move(file)) {}

  /// The bytes of a block whose streamed_size is not 0, decoded now if they are
  /// not stored. Other requests for the block wait. Fails with kIo and ENOSPC
  /// if there is no room for them.
  Result<Pinned> Get(const Block& block, const ReadContext& context);

  /// Lends the separate file with the bytes of the block `key` to a reader.
  /// Returns null if there is none, or if more than half of the room would be
  /// lent.
  SpillFile::Loan FindFile(Key key);

  /// Bytes of the disk in use.
  uint64_t bytes() const { return file_->bytes(); }
  /// Bytes ever decoded into the file.
  uint64_t produced() const { return produced_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    Key key;
    Pinned bytes;
    Clock::time_point until;  // a block in use is not evicted before
    Clock::time_point used;
  };

  Pinned Find(Key key);
  /// Decodes a block. Returns null if the caller must first wait until other
  /// blocks have been read.
  Result<Pinned> Produce(const Block& block, const ReadContext& context);
  /// Reserves room, evicting older blocks if needed. Returns null like Produce.
  Result<Pinned> Reserve(uint64_t size);
  enum class Evicted : uint8_t { kOne, kNoneYet, kNone };
  Evicted EvictOldest();
  /// Returns the next block to evict: the oldest one that is not lent; end() if
  /// there is none.
  std::list<Kept>::iterator Oldest() CTXFS_REQUIRES(mutex_);
  /// Returns the time at which Oldest() may be evicted, unless it is read
  /// before.
  Clock::time_point EvictableAt() CTXFS_REQUIRES(mutex_);

  const std::shared_ptr<SpillFile> file_;
  std::atomic<uint64_t> produced_ = 0;
  Mutex mutex_;
  std::list<Kept> kept_ CTXFS_GUARDED_BY(mutex_);  // most recent first
};

/// Like SpillStore::FindFile, for `block`; null if `cache` does not store it in
/// a temporary file.
SpillFile::Loan FindFile(const BlockCache& cache, const Block& block);

}  // namespace ctxfs
