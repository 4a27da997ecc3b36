// SPDX-License-Identifier: Apache-2.0
//
// Decodes rows of a column (docs/formats/cvc.md, section 3): any window,
// reading only the stored bytes that it needs.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/codec/numbers/convert.h"
#include "core/formats/cvc/cvc.h"

namespace ctxfs::cvc {
namespace {

// Elements decoded at a time: the buffer must fit in the L2 cache, and system
// calls must cost little (docs/performance.md).
constexpr size_t kPiece = 32768;
constexpr size_t kElement = 4;  // bytes of a decoded float

class PieceReader {
 public:
  /// All arguments must outlive this object.
  PieceReader(const Source& source, const Chunk& chunk, const Piece& piece,
              uint64_t elements, const Request& request)
      : source_(source),
        request_(request),
        piece_(piece),
        at_(chunk.payload + piece.offset),
        elements_(elements) {}

  /// Fills `out` with the decoded bytes from `offset` on.
  Status Read(uint64_t offset, MutableBytes out) {
    if (piece_.codec == Codec::kNone) {
      return source_.ReadAt(at_ + offset, out, request_);
    }
    if (piece_.codec == Codec::kLossless) {
      CTXFS_TRY(FindPlanes());
    }
    while (!out.empty()) {
      const uint64_t first = offset / kElement;
      const auto skip = static_cast<size_t>(offset % kElement);
      size_t taken = 0;
      if (skip == 0 && out.size() >= kElement) {
        const size_t count = std::min(out.size() / kElement, kPiece);
        taken = count * kElement;
        CTXFS_TRY(ReadElements(first, out.first(taken)));
      } else {  // a window may cut through elements
        std::array<std::byte, kElement> whole;
        CTXFS_TRY(ReadElements(first, whole));
        taken = std::min(out.size(), kElement - skip);
        std::memcpy(out.data(), whole.data() + skip, taken);
      }
      out = out.subspan(taken);
      offset += taken;
    }
    return {};
  }

 private:
  Status ReadElements(uint64_t first, MutableBytes out) {
    const size_t count = out.size() / kElement;
    if (piece_.codec == Codec::kLossless) {
      for (unsigned plane = 0; plane < 4; ++plane) {
        CTXFS_TRY(ReadPlane(plane, first, count, out));
      }
      return {};
    }
    const size_t size = piece_.codec == Codec::kFp16 ? 2 : 1;
    const MutableBytes in = MutableBytes(stored_).first(count * size);
    CTXFS_TRY(source_.ReadAt(at_ + first * size, in, request_));
    if (piece_.codec == Codec::kFp16) {
      HalvesToFloats(in, out);
    } else {
      BytesToFloats(in, piece_.scale, piece_.min, out);
    }
    return {};
  }

  Error Corrupt(std::string what) const {
    return {Code::kCorrupt, std::move(what), at_};
  }

  /// Reads each plane's count and dictionary, and finds the codes after them.
  Status FindPlanes() {
    std::array<std::byte, 8> head;
    CTXFS_TRY(source_.ReadAt(at_, head, request_));
    if (LoadLe<uint32_t>(head.data()) != elements_) {
      return Corrupt("the lossless data has another number of values");
    }
    uint64_t at = head.size();
    for (unsigned i = 0; i < 4; ++i) {
      Plane& plane = planes_[i];
      plane.width = static_cast<unsigned>(head[4 + i]);
      if (plane.width < 1 || plane.width > 8) {
        return Corrupt(fmt::format("lossless codes of {} bits", plane.width));
      }
      std::array<std::byte, 2 + 256> bytes;
      const uint64_t there = piece_.size - at;
      const MutableBytes in = MutableBytes(bytes).first(
          static_cast<size_t>(std::min<uint64_t>(bytes.size(), there)));
      CTXFS_TRY(source_.ReadAt(at_ + at, in, request_));
      if (in.size() >= 2) plane.dict_size = LoadLe<uint16_t>(in.data());
      const uint64_t codes = (elements_ * plane.width + 7) / 8;
      if (in.size() < 2 || plane.dict_size > 256 ||
          !InBounds(2 + plane.dict_size, codes, there)) {
        return Corrupt("a plane of lossless data does not fit");
      }
      std::memcpy(plane.dict.data(), in.data() + 2, plane.dict_size);
      plane.codes = at_ + at + 2 + plane.dict_size;
      at += 2 + plane.dict_size + codes;
    }
    return {};
  }

  Status ReadPlane(unsigned which, uint64_t first, size_t count,
                   MutableBytes out) {
    const Plane& plane = planes_[which];
    const uint64_t first_bit = first * plane.width;
    const uint64_t end = (first_bit + count * plane.width + 7) / 8;
    const MutableBytes in =
        MutableBytes(stored_).first(static_cast<size_t>(end - first_bit / 8));
    CTXFS_TRY(source_.ReadAt(plane.codes + first_bit / 8, in, request_));
    const auto bit = static_cast<unsigned>(first_bit % 8);
    if (!UnpackPlane(in, bit, plane.width, plane.dict.data(), plane.dict_size,
                     which, out)) {
      return Corrupt("a lossless code is not in its dictionary");
    }
    return {};
  }

  struct Plane {
    uint64_t codes = 0;  // byte of the file
    unsigned width = 0;
    unsigned dict_size = 0;
    std::array<uint8_t, 256> dict = {};
  };

  const Source& source_;
  const Request& request_;
  const Piece& piece_;
  const uint64_t at_;  // byte of the file
  const uint64_t elements_;
  std::array<Plane, 4> planes_;
  std::array<std::byte, 2 * kPiece> stored_;  // two bytes an element
};

class Rows final : public Transform {
 public:
  Rows(std::shared_ptr<const Collection> collection, uint32_t column,
       uint64_t first_row, uint64_t rows)
      : collection_(std::move(collection)),
        column_(column),
        first_row_(first_row),
        rows_(rows) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const Header& header = collection_->header();
    const Column& column = header.columns[column_];
    const uint64_t row_bytes = column.row_bytes();
    offset += first_row_ * row_bytes;
    while (!out.empty()) {
      const uint32_t chunk = collection_->ChunkOfRow(offset / row_bytes);
      CTXFS_TRY(Pass(chunk, context));
      const Chunk& record = header.chunks[chunk];
      const uint64_t rows = collection_->ChunkRows(chunk);
      const uint64_t at = offset - record.first_row * row_bytes;
      const MutableBytes own = out.first(static_cast<size_t>(
          std::min<uint64_t>(out.size(), rows * row_bytes - at)));
      PieceReader reader(*collection_->source(), record,
                         *collection_->FindPiece(chunk, column_),
                         rows * column.dimension, context);
      CTXFS_TRY(reader.Read(at, own));
      out = out.subspan(own.size());
      offset += own.size();
    }
    return {};
  }

  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    const uint64_t end = first_row_ + rows_;
    uint32_t chunk = collection_->ChunkOfRow(first_row_);
    for (uint64_t row = first_row_; row < end; ++chunk) {
      if (!context.Check()) return false;
      const uint64_t rows = collection_->ChunkRows(chunk);
      if (rows > 0 && IsUnreadable(chunk, budget, context)) return true;
      row = collection_->header().chunks[chunk].first_row + rows;
    }
    return false;
  }

  Status Verify(const ReadContext& context) const override {
    const uint64_t end = first_row_ + rows_;
    for (uint64_t row = first_row_; row < end;) {
      const uint32_t chunk = collection_->ChunkOfRow(row);
      CTXFS_TRY(Pass(chunk, context));
      row = collection_->header().chunks[chunk].first_row +
            collection_->ChunkRows(chunk);
    }
    return {};
  }

 private:
  /// Fails if the rows in a chunk have a fault, or the checksum of the chunk is
  /// wrong.
  Status Pass(uint32_t chunk, const ReadContext& context) const {
    const Piece* piece = collection_->FindPiece(chunk, column_);
    if (piece == nullptr || piece->fault != Fault::kSound) {
      return collection_->PieceError(chunk, column_);
    }
    const std::optional<ChecksumGuard> guard = collection_->GuardOf(chunk);
    return guard ? guard->Verify(context) : Status();
  }

  bool IsUnreadable(uint32_t chunk, uint64_t& budget,
                    const ReadContext& context) const {
    const Piece* piece = collection_->FindPiece(chunk, column_);
    if (piece == nullptr || piece->fault != Fault::kSound) return true;
    const std::optional<ChecksumGuard> guard = collection_->GuardOf(chunk);
    if (!guard) return false;
    const uint64_t work = guard->PendingWork();
    if (work > budget) return false;
    budget -= work;
    const Status passed = guard->Verify(context);
    return !passed && passed.error().code == Code::kChecksum;
  }

  std::shared_ptr<const Collection> collection_;
  uint32_t column_;
  uint64_t first_row_;
  uint64_t rows_;
};

}  // namespace

std::shared_ptr<const Transform> DecodeRows(
    std::shared_ptr<const Collection> collection, uint32_t column,
    uint64_t first_row, uint64_t rows) {
  return std::make_shared<const Rows>(std::move(collection), column, first_row,
                                      rows);
}

}  // namespace ctxfs::cvc
