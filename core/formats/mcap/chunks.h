// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/content/block.h"
#include "core/content/block_cache.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"
#include "core/formats/mcap/index.h"

namespace ctxfs::mcap {

/// The fields of a message, and its place in a decoded chunk.
struct Place {
  Message fields;
  uint32_t at;      // offset of the fields; the data follows
  uint32_t length;  // of fields and data
};

/// The messages of a decoded chunk.
struct Layout {
  std::vector<Place> places;  // sorted by channel and offset
  Counts counts;              // by channel
  /// The channels of which a message has an earlier log time than the channel's
  /// message before it in the chunk.
  std::vector<uint16_t> unordered;

  std::span<const Place> Messages(uint16_t channel) const;
  uint64_t bytes() const { return places.capacity() * sizeof(Place); }
};

/// Goes through the records of a decoded chunk. Adds schemas and channels to
/// `definitions` unless it is null. Fails with kCorrupt if a record is invalid
/// or does not end within the chunk.
Result<Layout> LayoutOf(Bytes decoded, std::vector<Record>* definitions,
                        const Request& request);

/// Fails if a chunk of this size and compression cannot be decoded.
Status CheckChunk(const Chunk& chunk);

/// The chunks of a file: decodes and verifies them, each as one block of the
/// cache, and keeps their layouts. Thread-safe.
class Chunks : public std::enable_shared_from_this<Chunks> {
 public:
  Chunks(std::shared_ptr<const Source> source, bool verify)
      : source_(std::move(source)), verify_(verify) {}

  /// Sets the chunks, the verdict that all of them start with, and the channels
  /// whose messages are known not to be in the order of their log times. Must
  /// be called once, before any other function except BlockOf(chunk, verdict).
  void Set(std::vector<Chunk> chunks, std::set<uint16_t> unordered,
           Verdict verdict);

  const std::vector<Chunk>& all() const { return chunks_; }
  const Source& source() const { return *source_; }
  Verdict VerdictOf(uint32_t number) const {
    return verdicts_[number].load(std::memory_order_acquire);
  }

  /// Returns a block of the decoded records of a chunk. Its Produce fails with
  /// kCorrupt if the file has another chunk at that place.
  std::shared_ptr<const Block> BlockOf(uint32_t number) const;
  /// Like BlockOf by number, for a chunk found while the file is walked, before
  /// Set has been called.
  std::shared_ptr<const Block> BlockOf(
      const Chunk& chunk, std::shared_ptr<AtomicVerdict> verdict) const;
  /// Returns the layout of a chunk. Decodes the chunk unless its layout is
  /// cached. Fails with kCorrupt if the numbers of its messages differ from
  /// those in the index.
  Result<std::shared_ptr<const Layout>> Find(uint32_t number,
                                             const ReadContext& context) const;
  /// The channels known to have messages that are not in the order of their log
  /// times: those passed to Set, and those found in chunks that were decoded
  /// since.
  std::set<uint16_t> Unordered() const;

 private:
  struct Kept {
    std::shared_ptr<const Layout> layout;
    BlockCache::Lease lease;
  };
  /// Caches a layout, and drops the oldest layouts until all take at most an
  /// eighth of the cache's budget, because other containers need the rest. Does
  /// not cache a layout that is larger than that.
  void Keep(uint32_t number, const std::shared_ptr<const Layout>& layout,
            BlockCache& cache) const;

  const std::shared_ptr<const Source> source_;
  const bool verify_;
  const uint64_t owner_ = NewOwner();
  std::vector<Chunk> chunks_;
  mutable std::vector<AtomicVerdict> verdicts_;
  mutable Mutex mutex_;
  mutable LruMap<uint32_t, Kept> kept_ CTXFS_GUARDED_BY(mutex_);
  mutable uint64_t kept_bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
  mutable std::set<uint16_t> unordered_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs::mcap
