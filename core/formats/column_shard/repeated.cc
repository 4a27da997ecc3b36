// SPDX-License-Identifier: Apache-2.0
#include "core/formats/column_shard/repeated.h"

#include <algorithm>
#include <utility>

namespace ctxfs::column_shard {
namespace {

/// Little-endian integers of `width` bytes: first, first + step, ... modulo
/// 2^64, truncated to `width`.
class Series final : public Transform {
 public:
  Series(uint64_t first, uint64_t step, uint64_t width,
         std::shared_ptr<const Block> block)
      : first_(first), step_(step), width_(width), block_(std::move(block)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& /*context*/) const override {
    uint64_t row = offset / width_;
    auto byte = static_cast<unsigned>(offset % width_);
    uint64_t value = first_ + row * step_;
    for (std::byte& to : out) {
      to = static_cast<std::byte>(value >> (8 * byte));
      if (++byte < width_) continue;
      byte = 0;
      value += step_;
    }
    return block_->CheckUnchanged();
  }

 private:
  uint64_t first_;
  uint64_t step_;
  uint64_t width_;
  std::shared_ptr<const Block> block_;
};

/// One run of equal booleans.
struct Run {
  uint64_t rows;
  std::byte value;
};

/// Reads the next run; returns false at the end of the data.
bool NextRun(ByteReader& in, Run* run) {
  run->rows = in.Uvarint();
  run->value = in.U8() != 0 ? std::byte{1} : std::byte{0};
  return in.ok();
}

/// Expands runs. Each window walks all runs from the first: there are few.
class Runs final : public Transform {
 public:
  /// The runs start at byte `at` of the block.
  Runs(size_t at, std::shared_ptr<const Block> block)
      : at_(at), block_(std::move(block)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const BlockCache::Pinned payload = CTXFS_TRY(context.Get(*block_));
    ByteReader in(payload->span().subspan(at_));
    Run run;
    while (!out.empty() && NextRun(in, &run)) {
      if (offset >= run.rows) {
        offset -= run.rows;
        continue;
      }
      const auto length = static_cast<size_t>(
          std::min<uint64_t>(run.rows - offset, out.size()));
      std::fill_n(out.begin(), length, run.value);
      out = out.subspan(length);
      offset = 0;
    }
    return block_->CheckUnchanged();
  }

 private:
  size_t at_;
  std::shared_ptr<const Block> block_;
};

std::shared_ptr<const Transform> AsSeries(const Chunk& chunk,
                                          std::shared_ptr<const Block> block) {
  ByteReader in(chunk.data);
  const uint64_t first = in.U64();
  const uint64_t step = in.U64();
  const unsigned bits = in.U8();
  if (!in.ok() || bits != 0) return nullptr;
  return std::make_shared<const Series>(
      first, step, ColumnTypeWidth(chunk.type), std::move(block));
}

std::shared_ptr<const Transform> AsRuns(const Chunk& chunk, Bytes payload,
                                        std::shared_ptr<const Block> block) {
  ByteReader in(chunk.data);
  const uint8_t bits = in.U8();
  if (!in.ok() || bits == 0 || bits > 8) return nullptr;
  Run run;
  for (uint64_t left = chunk.count; left > 0;) {
    if (!NextRun(in, &run)) return nullptr;
    left -= std::min(left, run.rows);
  }
  const auto at = static_cast<size_t>(chunk.data.data() + 1 - payload.data());
  return std::make_shared<const Runs>(at, std::move(block));
}

}  // namespace

std::shared_ptr<const Transform> RepeatedValues(
    const Chunk& chunk, Bytes payload, std::shared_ptr<const Block> block) {
  if (chunk.coding == ChunkCoding::kDelta) {
    return AsSeries(chunk, std::move(block));
  }
  if (chunk.coding == ChunkCoding::kRle) {
    return AsRuns(chunk, payload, std::move(block));
  }
  return nullptr;
}

}  // namespace ctxfs::column_shard
