// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/pickle_input.h"

#include <algorithm>

namespace ctxfs::torch {

PickleInput::PickleInput(const Content& content, uint64_t offset,
                         const ReadContext& context)
    : content_(content),
      at_(offset),
      end_(std::min(content.size(),
                    CheckedAdd(offset, kMaxPickleBytes).value_or(UINT64_MAX))),
      context_(context) {}

Result<Bytes> PickleInput::Take(uint64_t size) {
  const Bytes next = CTXFS_TRY(Peek(size));
  at_ += size;
  return next.first(static_cast<size_t>(size));
}

Result<Bytes> PickleInput::Peek(uint64_t least) {
  if (at_ < piece_at_ || !InBounds(at_ - piece_at_, least, piece_size_)) {
    CTXFS_TRY(ReadPiece());
  }
  const auto start = static_cast<size_t>(at_ - piece_at_);
  return Bytes(buffer_.span())
      .subspan(start, static_cast<size_t>(piece_size_) - start);
}

Status PickleInput::ReadPiece() {
  if (buffer_.size() == 0) buffer_ = Buffer(kPiece);
  piece_at_ = at_;
  piece_size_ = std::min(kPiece, remaining());
  Status read = ReadInto(content_, at_,
                         buffer_.span().first(static_cast<size_t>(piece_size_)),
                         context_);
  if (!read) piece_size_ = 0;
  return read;
}

}  // namespace ctxfs::torch
