// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/chunks.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/elements.h"
#include "core/io/descriptors.h"

namespace ctxfs::zarr {
namespace {

// Files of a store that stay open, if descriptors are not short.
constexpr size_t kMaxOpenChunks = 256;
constexpr size_t kOpenIfShort = 4;
constexpr uint64_t kRoom = 1024;

/// The decoded bytes of a chunk.
class ChunkBlock final : public Block {
 public:
  ChunkBlock(Key key, const Chain& chain, const Region& region,
             const std::string& fill)
      : Block(key), chain_(chain), region_(region), fill_(fill) {}

  uint64_t cost() const override {
    return AddUpTo(chain_.size.value_or(2 * region_.size), region_.size);
  }
  Result<Buffer> Produce(const ReadContext& context) const override {
    return DecodeChunk(chain_, region_, fill_, context);
  }
  bool verifies() const override { return chain_.checks(); }
  const Source* made_from() const override { return region_.source.get(); }

 private:
  const Chain& chain_;
  const Region& region_;
  const std::string& fill_;
};

/// The index of a shard.
class IndexBlock final : public Block {
 public:
  IndexBlock(Key key, const Sharding& shards, const Region& shard)
      : Block(key), shards_(shards), shard_(shard) {}

  uint64_t cost() const override { return shards_.index_bytes(); }
  Result<Buffer> Produce(const ReadContext& context) const override {
    return ReadShardIndex(shards_, shard_, context);
  }
  bool verifies() const override { return shards_.index_has_crc; }
  const Source* made_from() const override { return shard_.source.get(); }

 private:
  const Sharding& shards_;
  const Region& shard_;
};

/// The bytes of a shard that is encoded as a whole.
class ShardBlock final : public Block {
 public:
  ShardBlock(Key key, const Chain& chain, const Region& region)
      : Block(key), chain_(chain), region_(region) {}

  uint64_t cost() const override {
    return AddUpTo(2 * chain_.size.value_or(0), region_.size);
  }
  Result<Buffer> Produce(const ReadContext& context) const override {
    const Region shard = CTXFS_TRY(DecodeShard(chain_, region_, context));
    return ReadBuffer(*shard.source, shard.offset, shard.size, "shard",
                      context);
  }
  const Source* made_from() const override { return region_.source.get(); }

 private:
  const Chain& chain_;
  const Region& region_;
};

/// Cached bytes, as a source.
class PinnedSource final : public DerivedSource {
 public:
  PinnedSource(SourcePtr from, BlockCache::Pinned bytes)
      : DerivedSource(std::move(from)), bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_->size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    const Bytes bytes = std::as_const(*bytes_).span();
    if (!InBounds(offset, out.size(), bytes.size())) {
      return Error{Code::kCorrupt, "it ends too early", bytes.size()};
    }
    std::ranges::copy(bytes.subspan(offset, out.size()), out.begin());
    return {};
  }

 private:
  const BlockCache::Pinned bytes_;
};

Result<BlockCache::Pinned> GetUnchanged(const Block& block,
                                        const ReadContext& context) {
  BlockCache::Pinned bytes = CTXFS_TRY(context.Get(block));
  CTXFS_TRY(block.CheckUnchanged());
  return bytes;
}

}  // namespace

BlockOwners NewBlockOwners() {
  BlockOwners owners{};
  for (uint64_t& owner : owners) owner = NewOwner();
  return owners;
}

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
                         std::shared_ptr<const ArrayPlan> plan,
                         const BlockOwners& owners,
                         std::shared_ptr<AtomicVerdict> verdict)
    : files_(std::move(files)),
      path_(std::move(path)),
      plan_(std::move(plan)),
      owners_(owners),
      verdict_(std::move(verdict)),
      chunk_(&plan_->chunk),
      chain_(&plan_->chain) {
  while (chain_->is_divided()) {
    chunk_ = &chain_->shards->chunk;
    chain_ = &chain_->shards->inner;
  }
}

Indices ChunkReader::OriginOf(const Indices& index) const {
  Indices origin = index;
  for (size_t i = 0; i < origin.size(); ++i) origin[i] *= (*chunk_)[i];
  return origin;
}

uint64_t ChunkReader::NumberOf(const Indices& element,
                               const Indices& shape) const {
  uint64_t number = 0;
  for (size_t i = 0; i < element.size(); ++i) {
    const uint64_t extent = plan_->shape[i];
    const uint64_t boxes = extent / shape[i] + (extent % shape[i] == 0 ? 0 : 1);
    number = number * boxes + element[i] / shape[i];
  }
  return number;
}

std::string ChunkReader::FileOf(const Indices& index) const {
  Indices outer = OriginOf(index);
  for (size_t i = 0; i < outer.size(); ++i) outer[i] /= plan_->chunk[i];
  return path_.empty() ? plan_->KeyOf(outer)
                       : path_ + "/" + plan_->KeyOf(outer);
}

Error ChunkReader::At(const Indices& index, Error error) const {
  return Within("chunk " + Quote(FileOf(index)), std::move(error));
}

Result<std::optional<Region>> ChunkReader::Find(
    const Indices& index, const ReadContext& context) const {
  const SourcePtr file = CTXFS_TRY(files_->Open(FileOf(index), context));
  if (file == nullptr) return std::optional<Region>();
  std::optional<Region> region = Region{file, 0, file->size()};
  const Indices origin = OriginOf(index);
  const Chain* chain = &plan_->chain;
  const Indices* shape = &plan_->chunk;
  for (size_t level = 0; region && chain->is_divided(); ++level) {
    region =
        CTXFS_TRY(FindInShard(level, *region, *chain, *shape, origin, context));
    shape = &chain->shards->chunk;
    chain = &chain->shards->inner;
  }
  return region;
}

Result<std::optional<Region>> ChunkReader::FindInShard(
    size_t level, const Region& shard, const Chain& chain, const Indices& shape,
    const Indices& origin, const ReadContext& context) const {
  // Two blocks for each shard: its bytes if they are encoded, and its index.
  const uint64_t number = NumberOf(origin, shape);
  const uint64_t owner = owners_[1 + level];
  Region bytes = shard;
  if (!chain.byte_steps.empty()) {
    const ShardBlock block({owner, 2 * number}, chain, shard);
    BlockCache::Pinned decoded = CTXFS_TRY(GetUnchanged(block, context));
    const uint64_t size = decoded->size();
    bytes = {
        std::make_shared<const PinnedSource>(shard.source, std::move(decoded)),
        0, size};
  }
  const Sharding& shards = *chain.shards;
  const IndexBlock block({owner, 2 * number + 1}, shards, bytes);
  const BlockCache::Pinned index = CTXFS_TRY(GetUnchanged(block, context));
  uint64_t inner = 0;
  for (size_t i = 0; i < origin.size(); ++i) {
    inner = inner * shards.counts[i] + origin[i] % shape[i] / shards.chunk[i];
  }
  return RegionInShard(shards, std::as_const(*index).span(), inner, bytes);
}

Result<BlockCache::Pinned> ChunkReader::Decode(
    const Indices& index, const Region& region,
    const ReadContext& context) const {
  const uint64_t number = NumberOf(OriginOf(index), *chunk_);
  const ChunkBlock block({owners_[0], number}, *chain_, region, plan_->fill);
  return GetUnchanged(block, context);
}

}  // namespace ctxfs::zarr
