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

/// Keeps the bytes of blocks that are too large for the BlockCache in a
/// temporary file. Each is decoded once, in pieces, and verified before any
/// byte is served. The least recently used block is evicted first, but while it
/// is read, not before four times as long has passed as decoding it took.
/// Readers of more blocks than there is room for therefore take turns, and do
/// not decode a block for every read. Safe for any number of threads.
///
/// kept_ has each block once, whole and verified, since one is decoded within
/// BlockCache::Once with its key.
class SpillStore {
 public:
  using Pinned = std::shared_ptr<const SpillFile::Part>;

  explicit SpillStore(std::shared_ptr<SpillFile> file)
      : file_(std::move(file)) {}

  /// The bytes of a block whose streamed_size is not 0, decoded now if they are
  /// not there. Others who want the same block wait. Fails with kIo and ENOSPC
  /// if there is no room for them.
  Result<Pinned> Get(const Block& block, const ReadContext& context);

  /// The bytes of the block with this key, as a file of their own that a reader
  /// may have open; null if there is none. Half of the room is kept for others.
  SpillFile::Loan FindFile(Key key);

  /// Bytes of the disk that are in use.
  uint64_t bytes() const { return file_->bytes(); }
  /// Bytes that were decoded into the file, ever.
  uint64_t produced() const { return produced_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    Key key;
    Pinned bytes;
    Clock::time_point until;  // kept until then while it is read
    Clock::time_point used;
  };

  Pinned Find(Key key);
  /// Returns null if it has to wait until others have been read.
  Result<Pinned> Produce(const Block& block, const ReadContext& context);
  /// Reserves room, and evicts older blocks for it; null as above.
  Result<Pinned> Reserve(uint64_t size);
  enum class Evicted : uint8_t { kOne, kNoneYet, kNone };
  Evicted EvictOldest();
  /// The block to be evicted next, which is not lent; the end if there is none.
  std::list<Kept>::iterator Oldest() CTXFS_REQUIRES(mutex_);
  /// When it may be evicted, unless it is read meanwhile.
  Clock::time_point EvictableAt() CTXFS_REQUIRES(mutex_);

  const std::shared_ptr<SpillFile> file_;
  std::atomic<uint64_t> produced_ = 0;
  Mutex mutex_;
  std::list<Kept> kept_ CTXFS_GUARDED_BY(mutex_);  // most recent first
};

/// SpillStore::FindFile for a block that `cache` keeps in a temporary file.
SpillFile::Loan FindFile(const BlockCache& cache, const Block& block);

}  // namespace ctxfs
