// SPDX-License-Identifier: Apache-2.0
//
// Reads chunks of shards (docs/formats/zarr.md, section 7), and decodes chunks.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/formats/zarr/chunks.h"

namespace ctxfs::zarr {
namespace {

constexpr uint64_t kAbsent = UINT64_MAX;
constexpr uint64_t kRecordBytes = 2 * sizeof(uint64_t);

void ReverseNumbers(MutableBytes bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(sizeof(uint64_t))) {
    std::ranges::reverse(bytes.first(sizeof(uint64_t)));
  }
}

/// Adds the start of a region to the offset of an error within it.
Error From(const Region& region, Error error) {
  if (error.offset != kNoOffset) error.offset += region.offset;
  return error;
}

/// The most bytes that a chunk may take: incompressible data in any codec.
uint64_t MostStored(const Chain& chain) {
  if (chain.shards != nullptr || !chain.size) return limits::kStoredBytes;
  return std::min(2 * *chain.size + 64 * limits::kKiB, limits::kStoredBytes);
}

Result<Buffer> ReadStored(const Chain& chain, const Region& region,
                          const Request& request) {
  if (chain.stored && region.size != *chain.stored) {
    return Error{Code::kCorrupt,
                 fmt::format("{} bytes are there instead of {}", region.size,
                             *chain.stored),
                 region.offset + std::min(region.size, *chain.stored)};
  }
  const uint64_t most = MostStored(chain);
  if (region.size > most) {
    return Error{Code::kCorrupt,
                 fmt::format("{} bytes are too many for a chunk of {}",
                             region.size, chain.size.value_or(0)),
                 region.offset + most};
  }
  CTXFS_TRY(request.CheckMemory(region.size));
  return ReadBuffer(*region.source, region.offset, region.size, "chunk",
                    request);
}

/// Bytes in memory, as a source.
class DecodedSource final : public DerivedSource {
 public:
  DecodedSource(SourcePtr from, Buffer bytes)
      : DerivedSource(std::move(from)), bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    if (!InBounds(offset, out.size(), size())) {
      return Error{Code::kCorrupt, "it ends too early", size()};
    }
    std::ranges::copy(bytes_.span().subspan(offset, out.size()), out.begin());
    return {};
  }

 private:
  const Buffer bytes_;
};

Region InMemory(const SourcePtr& from, Buffer bytes) {
  const uint64_t size = bytes.size();
  return {std::make_shared<const DecodedSource>(from, std::move(bytes)), 0,
          size};
}

/// Copies the elements of an inner chunk to its place in a shard of `counts`
/// chunks.
void PlaceChunk(const Sharding& shards, uint64_t number, uint64_t width,
                Bytes from, MutableBytes to) {
  const size_t rank = shards.chunk.size();
  // A run spans the last dimension of the chunk.
  const uint64_t run = rank == 0 ? width : shards.chunk[rank - 1] * width;
  Indices strides(rank);
  uint64_t stride = width;
  uint64_t at = 0;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    at += number % shards.counts[i] * shards.chunk[i] * stride;
    number /= shards.counts[i];
    stride *= shards.counts[i] * shards.chunk[i];
  }
  Indices index(rank);
  for (uint64_t done = 0; done < from.size(); done += run) {
    std::memcpy(to.data() + at, from.data() + done, run);
    for (size_t i = rank > 0 ? rank - 1 : 0; i-- > 0;) {
      at += strides[i];
      if (++index[i] < shards.chunk[i]) break;
      at -= strides[i] * shards.chunk[i];
      index[i] = 0;
    }
  }
}

Result<Buffer> JoinShard(const Chain& chain, const Region& shard,
                         const std::string& fill, const ReadContext& context) {
  const Sharding& shards = *chain.shards;
  const Buffer index = CTXFS_TRY(ReadShardIndex(shards, shard, context));
  Buffer out(static_cast<size_t>(*chain.size));
  FillWith(fill, 0, out.span());
  for (uint64_t i = 0; i < shards.count; ++i) {
    CTXFS_TRY(context.Check());
    const std::optional<Region> region =
        CTXFS_TRY(RegionInShard(shards, index.span(), i, shard));
    if (!region) continue;
    const Buffer chunk =
        CTXFS_TRY(DecodeChunk(shards.inner, *region, fill, context));
    PlaceChunk(shards, i, fill.size(), chunk.span(), out.span());
  }
  return out;
}

}  // namespace

void FillWith(const std::string& element, uint64_t phase, MutableBytes out) {
  const bool same = std::ranges::all_of(
      element, [&element](char c) { return c == element[0]; });
  if (out.empty()) return;
  if (same) {
    std::memset(out.data(), element[0], out.size());
    return;
  }
  const size_t first = std::min(out.size(), element.size());
  for (size_t i = 0; i < first; ++i) {
    out[i] = static_cast<std::byte>(element[(phase + i) % element.size()]);
  }
  // Doubles the filled part: its length stays a multiple of the element.
  for (size_t done = first; done < out.size();) {
    const size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

Result<Buffer> ReadShardIndex(const Sharding& shards, const Region& shard,
                              const Request& request) {
  const uint64_t size = shards.index_bytes();
  if (shard.size < size) {
    return Error{
        Code::kCorrupt,
        fmt::format("a shard of {} bytes has no whole index", shard.size),
        shard.offset};
  }
  const uint64_t at =
      shards.index_at_start ? shard.offset : shard.offset + shard.size - size;
  CTXFS_TRY(request.CheckMemory(size));
  Buffer index = CTXFS_TRY(
      ReadBuffer(*shard.source, at, size, "index of a shard", request));
  const MutableBytes numbers =
      index.span().first(static_cast<size_t>(kRecordBytes * shards.count));
  if (shards.index_has_crc &&
      Crc32c(numbers) != LoadLe<uint32_t>(index.data() + numbers.size())) {
    return Error{Code::kChecksum, "checksum mismatch: the index of the shard",
                 at};
  }
  if (shards.index_is_big) ReverseNumbers(numbers);
  return index;
}

Result<std::optional<Region>> RegionInShard(const Sharding& shards, Bytes index,
                                            uint64_t number,
                                            const Region& shard) {
  const std::byte* const record = index.data() + kRecordBytes * number;
  const auto offset = LoadLe<uint64_t>(record);
  const auto size = LoadLe<uint64_t>(record + sizeof(uint64_t));
  if (offset == kAbsent && size == kAbsent) return std::optional<Region>();
  const uint64_t begin = shards.index_at_start ? shards.index_bytes() : 0;
  const uint64_t end =
      shard.size - (shards.index_at_start ? 0 : shards.index_bytes());
  if (offset < begin || !InBounds(offset, size, end)) {
    return Error{Code::kCorrupt,
                 fmt::format("chunk {} of the shard has {} bytes at {}, and "
                             "the shard has {} bytes before its index",
                             number, size, offset, end),
                 shard.offset + std::min(offset, shard.size)};
  }
  return std::optional(Region{shard.source, shard.offset + offset, size});
}

Result<Buffer> DecodeChunk(const Chain& chain, const Region& region,
                           const std::string& fill,
                           const ReadContext& context) {
  Buffer bytes;
  const auto undo = [&](const std::vector<Step>& steps) -> Status {
    if (steps.empty()) return {};
    Result<Buffer> undone = UndoSteps(steps, bytes.span(), context);
    if (!undone) return From(region, std::move(undone).error());
    bytes = *std::move(undone);
    return {};
  };
  if (chain.shards == nullptr) {
    bytes = CTXFS_TRY(ReadStored(chain, region, context));
    CTXFS_TRY(undo(chain.byte_steps));
  } else {
    const Region shard = CTXFS_TRY(DecodeShard(chain, region, context));
    bytes = CTXFS_TRY(JoinShard(chain, shard, fill, context));
  }
  // Texts have any length: their order is that of their places.
  if (chain.size) CTXFS_TRY(undo(chain.array_steps));
  return bytes;
}

Result<Region> DecodeShard(const Chain& chain, const Region& region,
                           const ReadContext& context) {
  if (chain.byte_steps.empty()) return region;
  const Buffer stored = CTXFS_TRY(ReadStored(chain, region, context));
  Result<Buffer> bytes = UndoSteps(chain.byte_steps, stored.span(), context);
  if (!bytes) return From(region, std::move(bytes).error());
  return InMemory(region.source, *std::move(bytes));
}

}  // namespace ctxfs::zarr
