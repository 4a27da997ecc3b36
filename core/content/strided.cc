// SPDX-License-Identifier: Apache-2.0
#include "core/content/strided.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/limits.h"

namespace ctxfs {
namespace {

using limits::kKiB;
using limits::kMiB;

constexpr uint64_t kChunk = 256 * kKiB;  // computed at a time
constexpr uint64_t kPiece = 4 * kMiB;    // of cached stored bytes
constexpr size_t kPieces = 16;           // in use at a time
// Elements of a run that are at least so far apart are read one by one, without
// pieces. Exceptions are a run of few elements, because the next run soon reads
// from the same pieces, and stored bytes of which all pieces can be in use at
// once.
constexpr uint64_t kFarApart = 64 * kKiB;
constexpr uint64_t kFewElements = 8;

/// A piece of the stored bytes, which is cached while neighbouring elements are
/// read.
class PieceBlock final : public Block {
 public:
  PieceBlock(Key key, const Content& stored, uint64_t offset, uint64_t size)
      : Block(key), stored_(stored), offset_(offset), size_(size) {}

  uint64_t cost() const override { return size_; }
  Result<Buffer> Produce(const ReadContext& context) const override {
    Buffer bytes(static_cast<size_t>(size_));
    CTXFS_TRY(ReadInto(stored_, offset_, bytes.span(), context));
    return bytes;
  }

 private:
  const Content stored_;
  const uint64_t offset_;
  const uint64_t size_;
};

/// The pieces of stored bytes that one computation uses.
class Pieces {
 public:
  Pieces(Key key, const Content& stored, const ReadContext& context)
      : key_(key), stored_(stored), context_(context) {}

  /// Returns the bytes from `at` to the end of their piece, at least one byte.
  Result<Bytes> From(uint64_t at) {
    const uint64_t number = at / kPiece;
    Slot& slot = slots_[number % kPieces];
    if (slot.number != number) {
      CTXFS_TRY(Load(number, slot));
    }
    return slot.bytes.subspan(static_cast<size_t>(at % kPiece));
  }

 private:
  struct Slot {
    uint64_t number = UINT64_MAX;
    Bytes bytes;
    BlockCache::Pinned pinned;
    Window window;
  };

  Status Load(uint64_t number, Slot& slot) {
    CTXFS_TRY(context_.Check());
    slot.number = UINT64_MAX;
    const uint64_t offset = number * kPiece;
    const uint64_t size = std::min(kPiece, stored_.size() - offset);
    // Decoded bytes are cached already: if the piece is a slice of one block,
    // it needs no copy.
    if (stored_.LargestBlock() > 0) {
      CTXFS_TRY(stored_.Read(offset, static_cast<size_t>(size), context_,
                             slot.window));
      if (slot.window.slices().size() == 1) {
        slot.bytes = slot.window.slices().front();
        slot.number = number;
        return {};
      }
    }
    const PieceBlock block({key_.owner, key_.index + number}, stored_, offset,
                           size);
    slot.pinned = CTXFS_TRY(context_.Get(block));
    slot.bytes = std::as_const(*slot.pinned).span();
    slot.number = number;
    return {};
  }

  const Key key_;
  const Content& stored_;
  const ReadContext& context_;
  std::array<Slot, kPieces> slots_;
};

/// Removes dimensions of size one, and merges adjacent dimensions where that
/// changes no element.
StridedLayout Simplified(StridedLayout layout) {
  std::vector<uint64_t> shape;
  std::vector<uint64_t> strides;
  for (size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] == 1) continue;
    const bool joins =
        !shape.empty() && CheckedMul(layout.strides[i], layout.shape[i]) ==
                              std::optional<uint64_t>(strides.back());
    if (joins) {
      shape.back() *= layout.shape[i];
      strides.back() = layout.strides[i];
    } else {
      shape.push_back(layout.shape[i]);
      strides.push_back(layout.strides[i]);
    }
  }
  layout.shape = std::move(shape);
  layout.strides = std::move(strides);
  return layout;
}

bool IsInOrder(const StridedLayout& layout) {
  return layout.shape.empty() ||
         (layout.shape.size() == 1 && layout.strides[0] == 1);
}

class Strided final : public Transform {
 public:
  Strided(Key key, Content stored, StridedLayout layout)
      : key_(key), stored_(std::move(stored)), layout_(std::move(layout)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    // Verifies the stored bytes first, because cached pieces have no checksum.
    CTXFS_TRY(stored_.Verify(context));
    Pieces pieces(key_, stored_, context);
    const uint64_t width = layout_.width;
    Buffer chunk(static_cast<size_t>(
        std::min<uint64_t>(kChunk, out.size() + 2 * width)));
    while (!out.empty()) {
      CTXFS_TRY(context.Check());
      const uint64_t first = offset / width;
      const uint64_t skip = offset % width;
      const uint64_t needed = (skip + out.size() + width - 1) / width;
      const uint64_t count = std::min(needed, chunk.size() / width);
      const MutableBytes elements =
          chunk.span().first(static_cast<size_t>(count * width));
      CTXFS_TRY(Gather(first, elements, pieces, context));
      Convert(elements);
      const auto size = static_cast<size_t>(
          std::min<uint64_t>(count * width - skip, out.size()));
      std::memcpy(out.data(), elements.data() + skip, size);
      out = out.subspan(size);
      offset += size;
    }
    return {};
  }
  Status Verify(const ReadContext& context) const override {
    return stored_.Verify(context);
  }

 private:
  /// Copies elements, starting with number `first`.
  Status Gather(uint64_t first, MutableBytes out, Pieces& pieces,
                const ReadContext& context) const {
    const size_t rank = layout_.shape.size();
    if (IsInOrder(layout_)) {
      return ReadInto(stored_, (layout_.offset + first) * layout_.width, out,
                      context);
    }
    std::vector<uint64_t> index(rank);
    for (size_t i = rank; i-- > 0;) {
      index[i] = first % layout_.shape[i];
      first /= layout_.shape[i];
    }
    while (!out.empty()) {
      uint64_t at = layout_.offset;
      for (size_t i = 0; i < rank; ++i) at += index[i] * layout_.strides[i];
      const uint64_t count =
          std::min<uint64_t>(layout_.shape[rank - 1] - index[rank - 1],
                             out.size() / layout_.width);
      const MutableBytes run =
          out.first(static_cast<size_t>(count * layout_.width));
      CTXFS_TRY(Run(at, count, run, pieces, context));
      out = out.subspan(run.size());
      index[rank - 1] += count;
      for (size_t i = rank - 1; i > 0 && index[i] == layout_.shape[i]; --i) {
        index[i] = 0;
        ++index[i - 1];
      }
    }
    return {};
  }

  /// Copies `count` elements of the last dimension; the first is the stored
  /// element `at`.
  Status Run(uint64_t at, uint64_t count, MutableBytes out, Pieces& pieces,
             const ReadContext& context) const {
    const uint64_t width = layout_.width;
    const uint64_t stride = layout_.strides.back();
    const bool all_in_use = stored_.size() <= kPiece * kPieces;
    const bool far = stride >= kFarApart / width && count > kFewElements;
    if (!all_in_use && stride == 1) {
      return ReadInto(stored_, at * width, out, context);
    }
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t from = (at + i * stride) * width;
      std::byte* to = out.data() + i * width;
      if (far && !all_in_use) {
        CTXFS_TRY(
            ReadInto(stored_, from, {to, static_cast<size_t>(width)}, context));
        continue;
      }
      CTXFS_TRY(Copy(from, count - i, to, pieces, i));
    }
    return {};
  }

  /// Copies the element at byte `from` and the elements after it that are in
  /// the same piece, at most `most` in all. Adds the number of elements after
  /// the first one to `i`.
  Status Copy(uint64_t from, uint64_t most, std::byte* to, Pieces& pieces,
              uint64_t& i) const {
    const uint64_t width = layout_.width;
    const Bytes bytes = CTXFS_TRY(pieces.From(from));
    if (bytes.size() < width) return Split(from, bytes, to, pieces);
    const uint64_t stride = layout_.strides.back() * width;
    uint64_t fit = most;
    if (stride > 0) {
      fit = std::min(most, (bytes.size() - width) / stride + 1);
    }
    const std::byte* source = bytes.data();
    for (uint64_t n = 0; n < fit; ++n) {
      std::memcpy(to + n * width, source + n * stride,
                  static_cast<size_t>(width));
    }
    i += fit - 1;
    return {};
  }

  /// Copies an element that starts in one piece and ends in the next.
  Status Split(uint64_t from, Bytes start, std::byte* to,
               Pieces& pieces) const {
    const size_t size = start.size();
    std::memcpy(to, start.data(), size);
    const Bytes rest = CTXFS_TRY(pieces.From(from + size));
    std::memcpy(to + size, rest.data(), layout_.width - size);
    return {};
  }

  void Convert(MutableBytes elements) const {
    if (layout_.swap > 1) {
      for (size_t at = 0; at < elements.size(); at += layout_.swap) {
        std::reverse(
            elements.begin() + static_cast<std::ptrdiff_t>(at),
            elements.begin() + static_cast<std::ptrdiff_t>(at + layout_.swap));
      }
    }
    const size_t part = layout_.float_width;
    const auto flip = [&](size_t first) {
      for (size_t at = first + part - 1; at < elements.size();
           at += layout_.width) {
        elements[at] ^= std::byte{0x80};
      }
    };
    if (layout_.flip_first) flip(0);
    if (layout_.flip_second && layout_.width > part) flip(part);
  }

  const Key key_;
  const Content stored_;
  const StridedLayout layout_;
};

}  // namespace

std::vector<uint64_t> RowMajorStrides(const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> strides(shape.size());
  uint64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<uint64_t>(shape[i], 1);
  }
  return strides;
}

std::vector<uint64_t> ColumnMajorStrides(const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> strides(shape.size());
  uint64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= std::max<uint64_t>(shape[i], 1);
  }
  return strides;
}

Content StridedContent(Key key, const Content& stored, StridedLayout layout) {
  uint64_t count = 1;
  for (const uint64_t extent : layout.shape) {
    if (extent == 0) return stored.Slice(0, 0);
    count *= extent;
  }
  StridedLayout simple = Simplified(std::move(layout));
  const uint64_t size = count * simple.width;
  const bool plain =
      simple.swap <= 1 && !simple.flip_first && !simple.flip_second;
  if (plain && IsInOrder(simple)) {
    return stored.Slice(simple.offset * simple.width, size);
  }
  return {
      Computed{std::make_shared<const Strided>(key, stored, std::move(simple)),
               0},
      size};
}

}  // namespace ctxfs
