// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/content/block.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"
#include "core/formats/zarr/array_plan.h"
#include "core/formats/zarr/limits.h"
#include "core/io/source.h"

namespace ctxfs::zarr {

/// The files of a store, some of which stay open. Thread-safe.
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

/// The owners of an array's blocks: of its chunks, and of each level of shards.
using BlockOwners = std::array<uint64_t, 1 + kMaxShardLevels>;
BlockOwners NewBlockOwners();

using Indices = std::vector<uint64_t>;

/// Stored bytes of a chunk or a shard.
struct Region {
  SourcePtr source;
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// Finds and decodes the chunks of an array. The chunks are those of the
/// innermost shards.
class ChunkReader {
 public:
  /// `verdict`: kFailed as soon as a chunk of the array is known to be damaged.
  ChunkReader(std::shared_ptr<const ChunkFiles> files, std::string path,
              std::shared_ptr<const ArrayPlan> plan, const BlockOwners& owners,
              std::shared_ptr<AtomicVerdict> verdict);

  void NoteDamage() const { verdict_->store(Verdict::kFailed); }
  bool is_damaged() const { return verdict_->load() == Verdict::kFailed; }

  const ArrayPlan& plan() const { return *plan_; }
  /// The shape and the codecs of a chunk.
  const Indices& chunk() const { return *chunk_; }
  const Chain& chain() const { return *chain_; }

  /// Returns where a chunk is stored; nullopt if it is missing, so that all of
  /// its elements are the fill value.
  Result<std::optional<Region>> Find(const Indices& index,
                                     const ReadContext& context) const;

  /// Decodes all of a chunk.
  Result<BlockCache::Pinned> Decode(const Indices& index, const Region& region,
                                    const ReadContext& context) const;

  /// Prefixes an error with the file of a chunk.
  Error At(const Indices& index, Error error) const;

 private:
  std::string FileOf(const Indices& index) const;
  /// The first element of a chunk.
  Indices OriginOf(const Indices& index) const;
  /// The number of the box of `shape` that has the element.
  uint64_t NumberOf(const Indices& element, const Indices& shape) const;
  Result<std::optional<Region>> FindInShard(size_t level, const Region& shard,
                                            const Chain& chain,
                                            const Indices& shape,
                                            const Indices& origin,
                                            const ReadContext& context) const;

  const std::shared_ptr<const ChunkFiles> files_;
  const std::string path_;
  const std::shared_ptr<const ArrayPlan> plan_;
  const BlockOwners owners_;
  const std::shared_ptr<AtomicVerdict> verdict_;
  const Indices* chunk_;
  const Chain* chain_;
};

/// Decodes the stored bytes of a chunk. `fill`: the element of missing chunks
/// of a shard.
Result<Buffer> DecodeChunk(const Chain& chain, const Region& region,
                           const std::string& fill, const ReadContext& context);

/// Undoes the codecs around shards: the bytes of a shard, in memory if there
/// are such codecs.
Result<Region> DecodeShard(const Chain& chain, const Region& region,
                           const ReadContext& context);

/// Reads and verifies the index of a shard: offset and size of each chunk.
Result<Buffer> ReadShardIndex(const Sharding& shards, const Region& shard,
                              const Request& request);
/// Returns where chunk `number` of a shard is; nullopt if it is missing.
Result<std::optional<Region>> RegionInShard(const Sharding& shards, Bytes index,
                                            uint64_t number,
                                            const Region& shard);

/// Fills `out`, which starts `phase` bytes after the start of an element.
void FillWith(const std::string& element, uint64_t phase, MutableBytes out);

}  // namespace ctxfs::zarr
