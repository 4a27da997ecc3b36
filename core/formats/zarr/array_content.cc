// SPDX-License-Identifier: Apache-2.0
//
// Computes windows of arrays whose elements have a fixed size.
#include "core/formats/zarr/array_content.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/content/strided.h"

namespace ctxfs::zarr {
namespace {

// Maximum number of bytes of a chunk without codecs that is read and cached as
// a whole. Of a larger one, only the window is read.
constexpr uint64_t kWholeChunk = 4 * limits::kMiB;

// Number of bytes whose decoding costs as much as opening a chunk.
constexpr uint64_t kOpeningCost = 16 * limits::kKiB;

/// Divides the bytes [begin, end) of `box` into boxes, and calls use(box) for
/// each, in order. From `dimension` on, `box` must have the whole extent of the
/// array.
template <typename Use>
Status Divide(const Indices& strides, size_t dimension, uint64_t begin,
              uint64_t end, const Box& box, const Use& use) {
  const uint64_t stride = strides[dimension];
  while (begin < end) {
    const uint64_t at = begin / stride;
    const uint64_t rest = begin % stride;
    const uint64_t rows = rest == 0 ? (end - begin) / stride : 0;
    const uint64_t next =
        rows > 0 ? begin + rows * stride : std::min(end, begin - rest + stride);
    Box part = box;
    part.first[dimension] = at;
    part.end[dimension] = at + std::max<uint64_t>(rows, 1);
    if (rows > 0) {
      CTXFS_TRY(use(part));
    } else {
      CTXFS_TRY(Divide(strides, dimension + 1, rest, rest + (next - begin),
                       part, use));
    }
    begin = next;
  }
  return {};
}

Indices With(Indices indices, uint64_t last) {
  indices.push_back(last);
  return indices;
}

/// Computes the elements of an array. Shapes have a last dimension for the
/// bytes of an element.
class Elements final : public Transform {
 public:
  explicit Elements(std::shared_ptr<const ChunkReader> reader)
      : reader_(std::move(reader)),
        width_(reader_->plan().type.size),
        shape_(With(reader_->plan().shape, width_)),
        chunk_(With(reader_->chunk(), width_)),
        layout_{Indices(shape_.size()), RowMajorStrides(shape_)},
        chunk_strides_(RowMajorStrides(chunk_)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const auto failed = [this](const Indices& index, Error error) -> Status {
      return reader_->At(index, std::move(error));
    };
    Status done = Divide(layout_.strides, 0, offset, offset + out.size(),
                         {Indices(shape_.size()), shape_}, [&](const Box& box) {
                           return CopyBox(box, {offset, out}, failed, context);
                         });
    if (!done && IsDamage(done.error())) reader_->NoteDamage();
    return done;
  }

  /// Reads all chunks, unless this costs more than `budget`.
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    if (reader_->is_damaged()) return true;
    uint64_t cost = std::max(reader_->chain().size.value_or(0), kOpeningCost);
    for (size_t i = 0; i < shape_.size(); ++i) {
      cost =
          CheckedMul(cost, ChunksIn(shape_[i], chunk_[i])).value_or(UINT64_MAX);
    }
    const uint64_t size = reader_->plan().size;
    if (size == 0 || cost > budget) return false;
    budget -= cost;
    Buffer all(static_cast<size_t>(size));
    const auto failed = [this](const Indices& /*index*/, Error error) {
      if (IsDamage(error)) reader_->NoteDamage();
      return error.Permanent() ? Status() : Status(std::move(error));
    };
    (void)CopyBox({Indices(shape_.size()), shape_}, {0, all.span()}, failed,
                  context);
    return reader_->is_damaged();
  }

 private:
  /// A range of the bytes of the array, from `offset` on.
  struct Target {
    uint64_t offset;
    MutableBytes bytes;
  };

  /// Copies a box from all chunks that it touches. Calls failed(index, error)
  /// for a chunk that cannot be read, and stops if that fails.
  template <typename Failed>
  Status CopyBox(const Box& box, const Target& to, const Failed& failed,
                 const ReadContext& context) const {
    const size_t rank = shape_.size() - 1;
    Indices first(rank);
    Indices end(rank);
    for (size_t i = 0; i < rank; ++i) {
      first[i] = box.first[i] / chunk_[i];
      end[i] = ChunksIn(box.end[i], chunk_[i]);
    }
    return ForEachIndex(first, end, [&](const Indices& index) -> Status {
      CTXFS_TRY(context.Check());
      Status copied = CopyChunk(index, box, to, context);
      return copied ? copied : failed(index, std::move(copied).error());
    });
  }

  /// Copies the part of a box that is in one chunk.
  Status CopyChunk(const Indices& index, Box box, const Target& to,
                   const ReadContext& context) const {
    Layout chunk{Indices(shape_.size()), chunk_strides_};
    for (size_t i = 0; i < index.size(); ++i) {
      chunk.origin[i] = index[i] * chunk_[i];
      box.first[i] = std::max(box.first[i], chunk.origin[i]);
      box.end[i] = std::min(box.end[i], chunk.origin[i] + chunk_[i]);
    }
    const Maybe<Region> found = reader_->Find(index, context);
    if (!found) return found.error();
    if (!*found) {
      return ForEachPiece(
          box, chunk, to, [&](MutableBytes out, uint64_t at, uint64_t) {
            FillWith(reader_->plan().fill, width_, at % width_, out);
            return Status();
          });
    }
    const Region& region = **found;
    const Chain& chain = reader_->chain();
    if (chain.stores_elements() && *chain.size > kWholeChunk) {
      CTXFS_TRY(CheckSize(region.size, *chain.size, region.offset));
      return ForEachPiece(
          box, chunk, to, [&](MutableBytes out, uint64_t, uint64_t from) {
            return region.source->ReadAt(region.offset + from, out, context);
          });
    }
    const BlockCache::Pinned decoded =
        CTXFS_TRY(reader_->Decode(index, region, context));
    const std::byte* const bytes = std::as_const(*decoded).data();
    return ForEachPiece(box, chunk, to,
                        [bytes](MutableBytes out, uint64_t, uint64_t from) {
                          std::memcpy(out.data(), bytes + from, out.size());
                          return Status();
                        });
  }

  /// Calls use(bytes, offset in the array, offset in the chunk) for each piece
  /// of `to` that is contiguous in array and chunk.
  template <typename Use>
  Status ForEachPiece(const Box& box, const Layout& chunk, const Target& to,
                      const Use& use) const {
    return ForEachRun(box, layout_, chunk,
                      [&](uint64_t at, uint64_t in_chunk, uint64_t length) {
                        return use(to.bytes.subspan(at - to.offset, length), at,
                                   in_chunk);
                      });
  }

  const std::shared_ptr<const ChunkReader> reader_;
  const uint64_t width_;
  const Indices shape_;
  const Indices chunk_;
  const Layout layout_;  // of the array
  const Indices chunk_strides_;
};

}  // namespace

Content ArrayContent(std::shared_ptr<const ChunkReader> reader) {
  const uint64_t size = reader->plan().size;
  return {Computed{std::make_shared<const Elements>(std::move(reader)), 0},
          size};
}

}  // namespace ctxfs::zarr
