// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/array_content.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/base/limits.h"

namespace ctxfs::zarr {
namespace {

// A chunk of stored elements up to this size is read and cached as a whole;
// windows of a larger one are read directly.
constexpr uint64_t kWholeChunk = 4 * limits::kMiB;

// Opening a chunk costs as much as decoding so many bytes.
constexpr uint64_t kOpeningCost = 16 * limits::kKiB;

/// A box of bytes: the last dimension is the bytes of an element.
struct ByteBox {
  Indices start;
  Indices count;
};

/// Divides a range of the bytes of an array into boxes, in order.
class Boxes {
 public:
  using Use = std::function<Status(const ByteBox&)>;

  Boxes(const Indices& shape, const Indices& strides, const Use& use)
      : shape_(shape),
        strides_(strides),
        use_(use),
        box_{Indices(shape.size()), shape} {}

  Status Divide(uint64_t begin, uint64_t end) { return Divide(0, begin, end); }

 private:
  /// The range is relative to the part of the array at the indices before
  /// `dimension`.
  Status Divide(size_t dimension, uint64_t begin, uint64_t end) {
    const uint64_t stride = strides_[dimension];
    uint64_t first = begin / stride;
    const uint64_t last = end / stride;
    if (begin % stride != 0) {
      const uint64_t stop = std::min(stride, end - first * stride);
      CTXFS_TRY(Descend(dimension, first, begin % stride, stop));
      ++first;
    }
    if (first < last) CTXFS_TRY(Give(dimension, first, last - first));
    if (last >= first && end % stride != 0) {
      return Descend(dimension, last, 0, end % stride);
    }
    return {};
  }

  Status Descend(size_t dimension, uint64_t at, uint64_t begin, uint64_t end) {
    box_.start[dimension] = at;
    box_.count[dimension] = 1;
    return Divide(dimension + 1, begin, end);
  }

  Status Give(size_t dimension, uint64_t first, uint64_t count) {
    box_.start[dimension] = first;
    box_.count[dimension] = count;
    for (size_t i = dimension + 1; i < shape_.size(); ++i) {
      box_.start[i] = 0;
      box_.count[i] = shape_[i];
    }
    return use_(box_);
  }

  const Indices& shape_;
  const Indices& strides_;
  const Use& use_;
  ByteBox box_;
};

Indices With(Indices indices, uint64_t last) {
  indices.push_back(last);
  return indices;
}

/// Bytes between neighbours of each dimension.
Indices StridesOf(const Indices& shape) {
  Indices strides(shape.size());
  uint64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

/// Calls use(array byte, chunk byte, length) for each run of a box that is
/// contiguous in the array and in the chunk.
template <typename Use>
Status ForEachRun(const ByteBox& box, const Indices& array_shape,
                  const Indices& array_strides, const Indices& origin,
                  const Indices& chunk_shape, const Indices& chunk_strides,
                  const Use& use) {
  size_t outer = box.count.size() - 1;
  uint64_t length = box.count[outer];
  while (outer > 0 && box.count[outer] == chunk_shape[outer] &&
         box.count[outer] == array_shape[outer]) {
    length *= box.count[--outer];
  }
  uint64_t in_array = 0;
  uint64_t in_chunk = 0;
  for (size_t i = 0; i < box.start.size(); ++i) {
    in_array += box.start[i] * array_strides[i];
    in_chunk += (box.start[i] - origin[i]) * chunk_strides[i];
  }
  Indices at(outer);
  while (true) {
    CTXFS_TRY(use(in_array, in_chunk, length));
    size_t i = outer;
    while (i-- > 0) {
      in_array += array_strides[i];
      in_chunk += chunk_strides[i];
      if (++at[i] < box.count[i]) break;
      in_array -= array_strides[i] * box.count[i];
      in_chunk -= chunk_strides[i] * box.count[i];
      at[i] = 0;
      if (i == 0) return {};
    }
    if (outer == 0) return {};
  }
}

class Elements final : public Transform {
 public:
  explicit Elements(std::shared_ptr<const ChunkReader> reader)
      : reader_(std::move(reader)),
        width_(reader_->plan().type.size),
        shape_(With(reader_->plan().shape, width_)),
        strides_(StridesOf(shape_)),
        chunk_shape_(With(reader_->chunk(), width_)),
        chunk_strides_(StridesOf(chunk_shape_)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const Boxes::Use use = [&](const ByteBox& box) {
      return CopyBox(box, offset, out, context);
    };
    Status done =
        Boxes(shape_, strides_, use).Divide(offset, offset + out.size());
    if (!done && IsDamage(done.error())) reader_->NoteDamage();
    return done;
  }

  /// Reads all chunks, if they are few.
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    if (reader_->is_damaged()) return true;
    const ArrayPlan& plan = reader_->plan();
    uint64_t cost = std::max(reader_->chain().size.value_or(0), kOpeningCost);
    for (size_t i = 0; i < plan.shape.size(); ++i) {
      const uint64_t chunks =
          (plan.shape[i] + chunk_shape_[i] - 1) / chunk_shape_[i];
      cost = CheckedMul(cost, chunks).value_or(UINT64_MAX);
    }
    if (plan.size == 0 || cost > budget) return false;
    budget -= cost;
    Buffer all(static_cast<size_t>(plan.size));
    const ByteBox whole{Indices(shape_.size()), shape_};
    (void)CopyEach(whole, 0, all.span(), context,
                   [this](const Indices& /*index*/, Error error) -> Status {
                     if (IsDamage(error)) reader_->NoteDamage();
                     return error.Permanent() ? Status() : Status(error);
                   });
    return reader_->is_damaged();
  }

 private:
  /// Copies a box from all chunks that it touches.
  Status CopyBox(const ByteBox& box, uint64_t offset, MutableBytes out,
                 const ReadContext& context) const {
    return CopyEach(box, offset, out, context,
                    [this](const Indices& index, Error error) {
                      return Status(reader_->At(index, std::move(error)));
                    });
  }

  /// Calls failed(index, error) for a chunk that cannot be read, and stops if
  /// that fails.
  template <typename Failed>
  Status CopyEach(const ByteBox& box, uint64_t offset, MutableBytes out,
                  const ReadContext& context, const Failed& failed) const {
    const size_t rank = shape_.size() - 1;
    Indices first(rank);
    Indices last(rank);
    for (size_t i = 0; i < rank; ++i) {
      first[i] = box.start[i] / chunk_shape_[i];
      last[i] = (box.start[i] + box.count[i] - 1) / chunk_shape_[i];
    }
    Indices index = first;
    while (true) {
      CTXFS_TRY(context.Check());
      Status copied = CopyChunk(index, box, offset, out, context);
      if (!copied) CTXFS_TRY(failed(index, std::move(copied).error()));
      size_t i = rank;
      while (i-- > 0) {
        if (++index[i] <= last[i]) break;
        index[i] = first[i];
        if (i == 0) return {};
      }
      if (rank == 0) return {};
    }
  }

  /// Copies the part of a box that is in one chunk.
  Status CopyChunk(const Indices& index, ByteBox box, uint64_t offset,
                   MutableBytes out, const ReadContext& context) const {
    Indices origin(shape_.size());
    for (size_t i = 0; i < index.size(); ++i) {
      origin[i] = index[i] * chunk_shape_[i];
      const uint64_t end =
          std::min(box.start[i] + box.count[i], origin[i] + chunk_shape_[i]);
      box.start[i] = std::max(box.start[i], origin[i]);
      box.count[i] = end - box.start[i];
    }
    const auto runs = [&](const auto& use) {
      return ForEachRun(
          box, shape_, strides_, origin, chunk_shape_, chunk_strides_,
          [&](uint64_t in_array, uint64_t in_chunk, uint64_t length) {
            return use(out.subspan(in_array - offset, length), in_array,
                       in_chunk);
          });
    };
    const std::optional<Region> region =
        CTXFS_TRY(reader_->Find(index, context));
    if (!region) {
      return runs([&](MutableBytes to, uint64_t in_array, uint64_t /*chunk*/) {
        FillWith(reader_->plan().fill, in_array % width_, to);
        return Status();
      });
    }
    if (IsReadDirectly()) {
      CTXFS_TRY(CheckSize(*region));
      return runs([&](MutableBytes to, uint64_t /*array*/, uint64_t in_chunk) {
        return region->source->ReadAt(region->offset + in_chunk, to, context);
      });
    }
    const BlockCache::Pinned chunk =
        CTXFS_TRY(reader_->Decode(index, *region, context));
    const std::byte* const from = std::as_const(*chunk).data();
    return runs([&](MutableBytes to, uint64_t /*array*/, uint64_t in_chunk) {
      std::memcpy(to.data(), from + in_chunk, to.size());
      return Status();
    });
  }

  bool IsReadDirectly() const {
    const Chain& chain = reader_->chain();
    return chain.stores_elements() && *chain.size > kWholeChunk;
  }

  Status CheckSize(const Region& region) const {
    const uint64_t wanted = *reader_->chain().size;
    if (region.size == wanted) return {};
    return Error{
        Code::kCorrupt,
        fmt::format("{} bytes are there instead of {}", region.size, wanted),
        region.offset + std::min(region.size, wanted)};
  }

  const std::shared_ptr<const ChunkReader> reader_;
  const uint64_t width_;
  const Indices shape_;
  const Indices strides_;
  const Indices chunk_shape_;
  const Indices chunk_strides_;
};

}  // namespace

Content ArrayContent(std::shared_ptr<const ChunkReader> reader) {
  const uint64_t size = reader->plan().size;
  return {Computed{std::make_shared<const Elements>(std::move(reader)), 0},
          size};
}

}  // namespace ctxfs::zarr
