// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/content/block.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"
#include "core/formats/zarr/array_plan.h"
#include "core/io/source.h"

namespace ctxfs::zarr {

/// Opens the files of a store, and keeps some of them open. Thread-safe.
class ChunkFiles {
 public:
  explicit ChunkFiles(SourcePtr store) : store_(std::move(store)) {}

  /// Returns the file at `path`; null if there is none.
  Result<SourcePtr> Open(const std::string& path, const Request& request) const;

 private:
  const SourcePtr store_;
  mutable Mutex mutex_;
  mutable LruMap<std::string, SourcePtr> open_ CTXFS_GUARDED_BY(mutex_);
};

/// Stored bytes of a chunk or a shard.
struct Region {
  SourcePtr source;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t stamp = 0;  // of the file: StampOf its identity
};

/// Finds and decodes the chunks of an array. If the array has shards, "chunk"
/// means an inner chunk of the innermost shards.
class ChunkReader {
 public:
  /// `owner` is the owner in the keys of the array's blocks. NoteDamage sets
  /// `verdict` to kFailed.
  ChunkReader(std::shared_ptr<const ChunkFiles> files, std::string path,
              std::shared_ptr<const ArrayPlan> plan, uint64_t owner,
              std::shared_ptr<AtomicVerdict> verdict);

  void NoteDamage() const { verdict_->store(Verdict::kFailed); }
  bool is_damaged() const { return verdict_->load() == Verdict::kFailed; }

  const ArrayPlan& plan() const { return *plan_; }
  /// The shape and the codecs of a chunk.
  const Indices& chunk() const { return *levels_.back().chunk; }
  const Chain& chain() const { return *levels_.back().chain; }

  /// Returns where a chunk is stored; nullopt if it is missing, so that all of
  /// its elements are the fill value.
  Maybe<Region> Find(const Indices& index, const ReadContext& context) const;

  /// Returns all decoded bytes of a chunk. `region` must be the result of Find.
  Result<BlockCache::Pinned> Decode(const Indices& index, const Region& region,
                                    const ReadContext& context) const;

  /// Prefixes an error with the file of a chunk.
  Error At(const Indices& index, Error error) const;

 private:
  /// The chunks of one level. At all levels but the last they are shards.
  struct Level {
    const Indices* chunk;
    const Chain* chain;
  };
  std::string FileOf(const Indices& index) const;
  /// The indices of the first element of a chunk.
  Indices OriginOf(const Indices& index) const;
  /// The key of the block of the chunk of `level` that has `element`; with
  /// `is_index`, of the block of that shard's index.
  Key KeyOf(size_t level, bool is_index, const Indices& element,
            const Region& region) const;
  /// Returns where a shard of `level` stores the inner chunk that has
  /// `element`; nullopt if it is missing.
  Maybe<Region> FindInShard(size_t level, const Region& shard,
                            const Indices& element,
                            const ReadContext& context) const;

  const std::shared_ptr<const ChunkFiles> files_;
  const std::string path_;
  const std::shared_ptr<const ArrayPlan> plan_;
  const uint64_t owner_;
  const std::shared_ptr<AtomicVerdict> verdict_;
  std::vector<Level> levels_;  // outermost first
};

}  // namespace ctxfs::zarr
