// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
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

/// Calls `act` with each record of a decoded chunk and its content. Fails with
/// kCorrupt if a record is invalid or does not end within the chunk.
template <typename Act>
Status ForEachRecord(Bytes decoded, const Request& request, const Act& act) {
  constexpr uint64_t kRecordsPerCheck = 4096;
  uint64_t at = 0;
  for (uint64_t i = 0; at < decoded.size(); ++i) {
    if (i % kRecordsPerCheck == 0) CTXFS_TRY(request.Check());
    const Bytes rest = decoded.subspan(static_cast<size_t>(at));
    const Record record = CTXFS_TRY(
        ParseRecord(rest.first(std::min<size_t>(rest.size(), kHeadSize)), at,
                    decoded.size()));
    CTXFS_TRY(act(record,
                  rest.subspan(kHeadSize, static_cast<size_t>(record.length))));
    at = record.end();
  }
  return {};
}

/// The fields of a message, and their place in a decoded chunk. The data
/// follows.
struct Place {
  MessageRecord fields;
  uint32_t at;
  uint32_t length;  // of fields and data

  uint16_t channel() const { return fields.channel; }
};

/// The messages of a decoded chunk by channel.
class Layout {
 public:
  /// Fails with kCorrupt if a record does not fit.
  static Result<Layout> Of(Bytes decoded, const Request& request);

  /// The messages of a channel in their order.
  std::span<const Place> Messages(uint16_t channel) const;
  /// The channels of which a message has an earlier log time than the one
  /// before it.
  const std::vector<uint16_t>& unordered() const { return unordered_; }
  /// All messages, by channel.
  const std::vector<Place>& all() const { return places_; }
  const Counts& counts() const { return counts_; }
  uint64_t bytes() const { return places_.capacity() * sizeof(Place); }

 private:
  Counts counts_;  // by channel
  std::vector<Place> places_;
  std::vector<uint16_t> unordered_;
};

/// The chunks of a file: decodes and verifies them, each as one block of the
/// cache, and keeps their layouts. Thread-safe.
class Chunks : public std::enable_shared_from_this<Chunks> {
 public:
  Chunks(std::shared_ptr<const Source> source, bool verify)
      : source_(std::move(source)), verify_(verify) {}

  /// Decodes a chunk before Set, as it is walked over.
  Result<BlockCache::Pinned> Decode(const Chunk& chunk,
                                    const ReadContext& context) const;
  /// Sets the chunks, which have `verdict`. Must be called once.
  void Set(std::vector<Chunk> chunks, Verdict verdict);

  const Chunk& operator[](uint32_t number) const { return chunks_[number]; }
  uint32_t count() const { return static_cast<uint32_t>(chunks_.size()); }
  const std::shared_ptr<const Source>& source() const { return source_; }

  /// Why the chunk cannot be decoded, according to the index.
  std::optional<Error> Fault(uint32_t number) const;
  Verdict VerdictOf(uint32_t number) const {
    return verdicts_[number].load(std::memory_order_acquire);
  }

  /// The decoded records of a chunk.
  std::shared_ptr<const Block> BlockOf(uint32_t number) const;
  /// Where its messages are. Decodes the chunk unless the layout is kept. Fails
  /// with kCorrupt if the chunk has other messages than the index says.
  Result<std::shared_ptr<const Layout>> LayoutOf(
      uint32_t number, const ReadContext& context) const;
  /// The channels that are not in the order of their log times, as far as
  /// chunks were decoded.
  std::set<uint16_t> Unordered() const;

 private:
  struct Kept {
    std::shared_ptr<const Layout> layout;
    BlockCache::Lease lease;
  };
  std::shared_ptr<const Layout> FindKept(uint32_t number) const;
  /// Keeps a layout, and drops old ones beyond an eighth of the cache's budget:
  /// what it lends to one container, others cannot have.
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

/// Why a chunk of this decoded size and compression cannot be decoded.
std::optional<Error> ChunkFault(const Chunk& chunk);

/// Reads, decodes and verifies a chunk. Fails with kCorrupt if the file has
/// another chunk there.
Result<Buffer> DecodeChunk(const Source& source, const Chunk& chunk,
                           bool verify, const ReadContext& context);

/// The part of a file to walk over.
struct WalkRange {
  uint64_t begin;  // behind the header
  uint64_t end;
  /// Whether a record that does not fit ends the walk without an error, and
  /// schemas and channels behind the data section count, too.
  bool salvage;
};

struct Walked {
  /// Why the walk ended early, with salvage.
  std::optional<Error> stopped = std::nullopt;
  /// Whether a chunk could not be decoded, so that not all messages are known.
  bool lacks_chunks = false;
};

/// Walks from record to record and adds what it finds to `builder`; decodes
/// each chunk once, one at a time (docs/formats/mcap.md, section 6). A chunk
/// that cannot be decoded is a warning.
Result<Walked> Walk(const Chunks& chunks, const WalkRange& range,
                    IndexBuilder& builder, const ReadContext& context);

}  // namespace ctxfs::mcap
