// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

/// Reads the bytes of a pickle sequentially. A pickle does not state its
/// length, so it is read in pieces. The input ends with the content or after
/// kMaxPickleBytes.
class PickleInput {
 public:
  /// Bytes of a piece, and the maximum for one Take.
  static constexpr uint64_t kPiece = 256 * limits::kKiB;

  PickleInput(const Content& content, uint64_t offset,
              const ReadContext& context);

  /// The offset of the next byte, from the start of the content.
  uint64_t at() const { return at_; }
  uint64_t remaining() const { return end_ - at_; }
  /// Whether the input ends at the limit, not with the content.
  bool ends_at_limit() const { return end_ < content_.size(); }

  /// Takes the next `size` bytes, at most kPiece and at most remaining(). Valid
  /// until the next call.
  Result<Bytes> Take(uint64_t size);

  /// Returns the next bytes without taking them: at least `least`, which must
  /// be at most remaining(), and at most kPiece. Valid until the next call.
  Result<Bytes> Peek(uint64_t least = 1);
  /// Skips `size` bytes, at most remaining().
  void Skip(uint64_t size) { at_ += size; }

 private:
  Status ReadPiece();

  const Content& content_;
  uint64_t at_;
  uint64_t end_;
  const ReadContext& context_;
  Buffer buffer_;
  uint64_t piece_at_ = 0;  // offset in the content
  uint64_t piece_size_ = 0;
};

}  // namespace ctxfs::torch
