// SPDX-License-Identifier: Apache-2.0
//
// The codec sharding_indexed (docs/formats/zarr.md, section 7).
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/errors.h"
#include "core/container/elements.h"
#include "core/content/strided.h"
#include "core/formats/zarr/chain.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

constexpr uint64_t kAbsent = UINT64_MAX;
constexpr uint64_t kRecordBytes = 2 * sizeof(uint64_t);

/// Sets the shape of inner chunks, which must divide a shard of `shape` evenly.
Status SetChunks(const Json& configuration, const Indices& shape,
                 Sharding& shards) {
  const Json* const inner = MemberAt(configuration, "chunk_shape");
  if (inner == nullptr || !inner->is_array() || inner->size() != shape.size()) {
    return Error{Code::kCorrupt, "rank: that of inner chunks is another"};
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const Json& one = (*inner)[i];
    const uint64_t extent = one.is_number_unsigned() ? one.get<uint64_t>() : 0;
    if (extent == 0 || shape[i] % extent != 0) {
      return Error{Code::kCorrupt,
                   "chunk_shape: inner chunks do not divide a shard"};
    }
    shards.chunk.push_back(extent);
    shards.counts.push_back(shape[i] / extent);
    // The product cannot wrap, because neither factor is over 2^24.
    if (shards.counts.back() > kMaxInnerChunks ||
        (shards.count *= shards.counts.back()) > kMaxInnerChunks) {
      return OverLimit("chunks of a shard are", kMaxInnerChunks);
    }
  }
  return {};
}

Status SetIndex(const Json& configuration, Sharding& shards) {
  const std::string location = TextAt(configuration, "index_location");
  if (!location.empty() && location != "start" && location != "end") {
    return BadCodecs("index_location is neither start nor end");
  }
  shards.index_at_start = location == "start";
  const Json* const codecs = MemberAt(configuration, "index_codecs");
  if (codecs == nullptr) return BadCodecs("there are no index_codecs");
  ElementType number;
  number.kind = ElementType::Kind::kNumber;
  number.number = {DType::kU64};
  number.size = sizeof(uint64_t);
  ChainBuilder builder(number, {}, {2 * shards.count}, kMaxShardLevels);
  CTXFS_TRY(builder.AddAll(codecs));
  shards.index = CTXFS_TRY(std::move(builder).Build());
  if (shards.index.stored) return {};
  return Error{Code::kUnsupported,
               "the index of a shard has codecs other than bytes and "
               "checksums, and no fixed size"};
}

/// Returns a shape with a last dimension for the bytes of an element.
Indices InBytes(Indices shape, uint64_t width) {
  shape.push_back(width);
  return shape;
}

/// Copies the inner chunk with the indices `at` to its place in the decoded
/// shard.
Status PlaceChunk(const Sharding& shards, const Indices& at, Bytes chunk,
                  const Indices& outer_strides, MutableBytes out) {
  const Indices shape = InBytes(shards.chunk, shards.width);
  Box box{Indices(shape.size()), shape};
  for (size_t i = 0; i < at.size(); ++i) {
    box.first[i] = at[i] * shape[i];
    box.end[i] = box.first[i] + shape[i];
  }
  const Layout outer{Indices(shape.size()), outer_strides};
  const Layout inner{box.first, RowMajorStrides(shape)};
  return ForEachRun(box, outer, inner,
                    [&](uint64_t to, uint64_t from, uint64_t length) {
                      std::memcpy(out.data() + to, chunk.data() + from, length);
                      return Status();
                    });
}

/// Decodes all inner chunks of a shard that is in memory. `shape` is the shape
/// of the decoded shard.
Result<Buffer> JoinChunks(const Sharding& shards, const Indices& shape,
                          Bytes shard, const ReadContext& context) {
  const auto decode = [&](const Chain& chain, uint64_t offset, uint64_t size) {
    const Bytes part = shard.subspan(offset, size);
    Result<Buffer> decoded = Undo(chain, {Buffer(), part}, context);
    if (decoded) return decoded;
    return Result<Buffer>(Moved(std::move(decoded).error(), offset));
  };
  const uint64_t index_at = CTXFS_TRY(shards.IndexAt(shard.size()));
  const Result<Buffer> index =
      decode(shards.index, index_at, shards.index_bytes());
  if (!index) return Within("index of the shard", index.error());
  const Indices bytes = InBytes(shape, shards.width);
  const Indices strides = RowMajorStrides(bytes);
  Buffer out(static_cast<size_t>(ElementsOf(bytes)));
  FillWith(shards.fill, shards.width, 0, out.span());
  uint64_t number = 0;
  const auto place = [&](const Indices& at) -> Status {
    CTXFS_TRY(context.Check());
    const std::optional<Part> part =
        CTXFS_TRY(FindPart(shards, index->span(), number++, shard.size()));
    if (!part) return {};
    const Buffer chunk =
        CTXFS_TRY(decode(shards.inner, part->offset, part->size));
    return PlaceChunk(shards, at, chunk.span(), strides, out.span());
  };
  CTXFS_TRY(ForEachIndex(Indices(shape.size()), shards.counts, place));
  return out;
}

}  // namespace

Result<uint64_t> Sharding::IndexAt(uint64_t size) const {
  if (size < index_bytes()) {
    return Error{Code::kCorrupt,
                 fmt::format("a shard of {} bytes has no whole index", size),
                 0};
  }
  return index_at_start ? 0 : size - index_bytes();
}

Status AddShards(const Json& configuration, ChainBuilder& chain) {
  if (chain.type.lines()) return UnreadCodec("sharding_indexed of texts");
  if (chain.level == kMaxShardLevels) {
    return OverLimit("shards within shards are", kMaxShardLevels);
  }
  if (chain.filtered) {
    return UnreadCodec("sharding_indexed of filtered elements");
  }
  auto shards = std::make_shared<Sharding>();
  shards->width = chain.width;
  shards->fill = chain.fill;
  CTXFS_TRY(SetChunks(configuration, chain.shape, *shards));
  CTXFS_TRY(SetIndex(configuration, *shards));
  ChainBuilder builder(chain.type, chain.fill, shards->chunk, chain.level + 1);
  CTXFS_TRY(builder.AddAll(MemberAt(configuration, "codecs")));
  shards->inner = CTXFS_TRY(std::move(builder).Build());
  chain.chain.is_divided = chain.chain.steps.empty();
  chain.chain.shards = shards;
  chain.Push(
      [shards = chain.chain.shards, shape = chain.shape](
          Coded& coded, const ReadContext& context) -> Status {
        Buffer joined =
            CTXFS_TRY(JoinChunks(*shards, shape, coded.bytes, context));
        coded.Set(std::move(joined));
        return {};
      },
      std::nullopt, shards->inner.checks());
  return {};
}

Maybe<Part> FindPart(const Sharding& shards, Bytes index, uint64_t number,
                     uint64_t size) {
  ByteReader in(index);
  in.Skip(kRecordBytes * number);
  const Part part{in.U64(), in.U64()};
  if (part.offset == kAbsent && part.size == kAbsent) {
    return std::optional<Part>();
  }
  const uint64_t begin = shards.index_at_start ? shards.index_bytes() : 0;
  const uint64_t end =
      size - (shards.index_at_start ? 0 : shards.index_bytes());
  if (in.ok() && part.offset >= begin &&
      InBounds(part.offset, part.size, end)) {
    return std::optional(part);
  }
  return Error{
      Code::kCorrupt,
      fmt::format("chunk {} of the shard has {} bytes at {}, and the shard has "
                  "{} bytes before its index",
                  number, part.size, part.offset, end),
      std::min(part.offset, size)};
}

void FillWith(std::string_view fill, uint64_t width, uint64_t phase,
              MutableBytes out) {
  const size_t first = std::min<uint64_t>(out.size(), width);
  for (size_t i = 0; i < first; ++i) {
    const uint64_t at = (phase + i) % width;
    out[i] = at < fill.size() ? static_cast<std::byte>(fill[at]) : std::byte{};
  }
  // Doubles the filled part. Its length stays a multiple of `width`.
  for (size_t done = first; done < out.size();) {
    const size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

}  // namespace ctxfs::zarr
