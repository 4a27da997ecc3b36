// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/chunks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/elements.h"
#include "core/io/descriptors.h"
#include "core/io/stamp.h"

namespace ctxfs::zarr {
namespace {

// Maximum number of files of a store that stay open: kMaxOpenChunks, or
// kOpenIfShort if fewer than kRoom descriptors are left.
constexpr size_t kMaxOpenChunks = 256;
constexpr size_t kOpenIfShort = 4;
constexpr uint64_t kRoom = 1024;

/// A source whose bytes are those of a cached block.
class PinnedSource final : public DerivedSource {
 public:
  PinnedSource(SourcePtr from, BlockCache::Pinned bytes)
      : DerivedSource(std::move(from)), bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_->size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    if (!InBounds(offset, out.size(), size())) {
      return Error{Code::kCorrupt, "it ends too early", size()};
    }
    std::ranges::copy(std::as_const(*bytes_).span().subspan(offset, out.size()),
                      out.begin());
    return {};
  }

 private:
  const BlockCache::Pinned bytes_;
};

/// Reads a region and undoes its codecs, except for those before number
/// `first`.
Result<Buffer> DecodeRegion(const Chain& chain, size_t first,
                            const Region& region, const ReadContext& context) {
  // Maximum bytes of a stored chunk. No codec makes more of incompressible
  // data.
  const bool sized = chain.shards == nullptr && chain.size;
  const uint64_t most = sized ? std::min(2 * *chain.size + 64 * limits::kKiB,
                                         limits::kStoredBytes)
                              : limits::kStoredBytes;
  if (region.size > most) {
    return Error{Code::kCorrupt,
                 fmt::format("{} bytes are too many for a chunk of {}",
                             region.size, chain.size.value_or(0)),
                 region.offset + most};
  }
  CTXFS_TRY(context.CheckMemory(region.size));
  Buffer stored = CTXFS_TRY(
      ReadBuffer(*region.source, region.offset, region.size, "chunk", context));
  Coded coded;
  coded.Set(std::move(stored));
  Result<Buffer> decoded = Undo(chain, std::move(coded), context, first);
  if (decoded) return decoded;
  return Moved(std::move(decoded).error(), region.offset);
}

/// The decoded bytes of a region.
class RegionBlock final : public Block {
 public:
  RegionBlock(Key key, const Chain& chain, size_t first, const Region& region)
      : Block(key), chain_(chain), first_(first), region_(region) {}

  uint64_t cost() const override {
    return AddUpTo(chain_.size.value_or(2 * region_.size), region_.size);
  }
  Result<Buffer> Produce(const ReadContext& context) const override {
    return DecodeRegion(chain_, first_, region_, context);
  }
  bool verifies() const override { return chain_.checks(); }
  const Source* made_from() const override { return region_.source.get(); }

 private:
  const Chain& chain_;
  const size_t first_;
  const Region& region_;
};

Result<BlockCache::Pinned> GetDecoded(const RegionBlock& block,
                                      const ReadContext& context) {
  BlockCache::Pinned bytes = CTXFS_TRY(context.Get(block));
  CTXFS_TRY(block.CheckUnchanged());
  return bytes;
}

}  // namespace

Result<SourcePtr> ChunkFiles::Open(const std::string& path,
                                   const Request& request) const {
  {
    const MutexLock lock(mutex_);
    if (const SourcePtr* const known = open_.Use(path)) return *known;
  }
  Result<SourcePtr> opened = store_->OpenBeside(path, request);
  if (!opened && opened.error().code == Code::kNotFound) opened = SourcePtr();
  if (!opened) return opened;
  const size_t most =
      Descriptors::HaveRoom(kRoom) ? kMaxOpenChunks : kOpenIfShort;
  // Closes files after the lock is released.
  std::vector<LruMap<std::string, SourcePtr>::Removed> removed;
  const MutexLock lock(mutex_);
  removed.push_back(open_.Put(path, *opened));
  while (open_.size() > most) removed.push_back(open_.RemoveOldest());
  return opened;
}

ChunkReader::ChunkReader(std::shared_ptr<const ChunkFiles> files,
                         std::string path,
                         std::shared_ptr<const ArrayPlan> plan, uint64_t owner,
                         std::shared_ptr<AtomicVerdict> verdict)
    : files_(std::move(files)),
      path_(std::move(path)),
      plan_(std::move(plan)),
      owner_(owner),
      verdict_(std::move(verdict)),
      levels_{{&plan_->chunk, &plan_->chain}} {
  while (chain().is_divided) {
    const Sharding& shards = *chain().shards;
    levels_.push_back({&shards.chunk, &shards.inner});
  }
}

Indices ChunkReader::OriginOf(const Indices& index) const {
  Indices origin = index;
  for (size_t i = 0; i < origin.size(); ++i) origin[i] *= chunk()[i];
  return origin;
}

std::string ChunkReader::FileOf(const Indices& index) const {
  Indices outer = OriginOf(index);
  for (size_t i = 0; i < outer.size(); ++i) outer[i] /= plan_->chunk[i];
  const std::string key = plan_->KeyOf(outer);
  return path_.empty() ? key : path_ + "/" + key;
}

Error ChunkReader::At(const Indices& index, Error error) const {
  return Within("chunk " + Quote(FileOf(index)), std::move(error));
}

Maybe<Region> ChunkReader::Find(const Indices& index,
                                const ReadContext& context) const {
  const SourcePtr file = CTXFS_TRY(files_->Open(FileOf(index), context));
  if (file == nullptr) return std::optional<Region>();
  std::optional<Region> region =
      Region{file, 0, file->size(), StampOf(file->identity())};
  const Indices origin = OriginOf(index);
  for (size_t level = 0; region && level + 1 < levels_.size(); ++level) {
    region = CTXFS_TRY(FindInShard(level, *region, origin, context));
  }
  return region;
}

Maybe<Region> ChunkReader::FindInShard(size_t level, const Region& shard,
                                       const Indices& element,
                                       const ReadContext& context) const {
  const auto& [shape, chain] = levels_[level];
  const Sharding& shards = *chain->shards;
  Region bytes = shard;
  if (chain->steps.size() > 1) {
    BlockCache::Pinned decoded = CTXFS_TRY(GetDecoded(
        {KeyOf(level, false, element, shard), *chain, 1, shard}, context));
    const uint64_t size = decoded->size();
    bytes = {
        std::make_shared<const PinnedSource>(shard.source, std::move(decoded)),
        0, size, shard.stamp};
  }
  Region at = bytes;
  at.offset += CTXFS_TRY(shards.IndexAt(bytes.size));
  at.size = shards.index_bytes();
  const Result<BlockCache::Pinned> index = GetDecoded(
      {KeyOf(level, true, element, shard), shards.index, 0, at}, context);
  if (!index) return Within("index of the shard", index.error());
  uint64_t number = 0;
  for (size_t i = 0; i < element.size(); ++i) {
    number =
        number * shards.counts[i] + element[i] % (*shape)[i] / shards.chunk[i];
  }
  const Maybe<Part> part =
      FindPart(shards, std::as_const(**index).span(), number, bytes.size);
  if (!part) return Moved(part.error(), bytes.offset);
  if (!*part) return std::optional<Region>();
  bytes.offset += (*part)->offset;
  bytes.size = (*part)->size;
  return std::optional(std::move(bytes));
}

Key ChunkReader::KeyOf(size_t level, bool is_index, const Indices& element,
                       const Region& region) const {
  const Indices& box = *levels_[level].chunk;
  uint64_t number = 0;
  for (size_t i = 0; i < element.size(); ++i) {
    number = number * ChunksIn(plan_->shape[i], box[i]) + element[i] / box[i];
  }
  // `number` is below 2^60, because an array of more chunks is refused
  // (kChunkWeight). With the stamp, a file that replaces another one has keys
  // of its own.
  const uint64_t index = 8 * number + 2 * level + (is_index ? 1 : 0);
  return {owner_, index ^ region.stamp};
}

Result<BlockCache::Pinned> ChunkReader::Decode(
    const Indices& index, const Region& region,
    const ReadContext& context) const {
  const Key key = KeyOf(levels_.size() - 1, false, OriginOf(index), region);
  BlockCache::Pinned chunk =
      CTXFS_TRY(GetDecoded({key, chain(), 0, region}, context));
  // Stamps are hashes, so that two files may have equal keys, and the block may
  // be that of another chunk.
  if (chain().size) CTXFS_TRY(CheckSize(chunk->size(), *chain().size));
  return chunk;
}

}  // namespace ctxfs::zarr
