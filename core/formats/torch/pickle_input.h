// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

/// The bytes of a pickle in order. A pickle says nowhere how long it is, so
/// they are read in pieces; they end with the content or after
/// kMaxPickleBytes.
class PickleInput {
 public:
  /// Bytes of a piece, and the most that one Take returns.
  static constexpr uint64_t kPiece = 256 * limits::kKiB;

  PickleInput(const Content& content, uint64_t offset,
              const ReadContext& context);

  /// The offset of the next byte, from the start of the content.
  uint64_t at() const { return at_; }
  uint64_t remaining() const { return end_ - at_; }
  /// Whether the input ends at the limit, not with the content.
  bool ends_at_limit() const { return end_ < content_.size(); }

  /// The next `size` bytes, which must remain and be at most kPiece; valid
  /// until the next call.
  Result<Bytes> Take(uint64_t size);

  /// The next bytes, at least `least` and at most kPiece, without taking them;
  /// valid until the next call. So many must remain.
  Result<Bytes> Peek(uint64_t least = 1);
  /// Goes past `size` bytes, which must remain.
  void Skip(uint64_t size) { at_ += size; }

 private:
  Status ReadPiece();

  const Content& content_;
  uint64_t at_;
  uint64_t end_;
  const ReadContext& context_;
  Buffer buffer_;
  uint64_t piece_at_ = 0;  // in the content
  uint64_t piece_size_ = 0;
};

}  // namespace ctxfs::torch
