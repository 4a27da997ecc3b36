// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs {

/// Goes through the bytes of a source, in pieces of 256 KiB.
class StoredReader {
 public:
  StoredReader(SourcePtr source, uint64_t at)
      : source_(std::move(source)), end_(at) {}

  /// The offset of the next byte.
  uint64_t at() const { return end_ - held_; }
  bool AtEnd() const { return at() >= source_->size(); }
  const SourcePtr& source() const { return source_; }

  /// Returns the next bytes, at least `least` of them if the source has as
  /// many. Valid until the next call.
  Result<Bytes> Peek(const Request& request, size_t least = 1);
  /// Returns the next bytes, and passes over them; none at the end.
  Result<Bytes> Next(const Request& request) {
    const Bytes bytes = CTXFS_TRY(Peek(request));
    Skip(bytes.size());
    return bytes;
  }
  /// Passes over `bytes` bytes that Peek has returned.
  void Skip(size_t bytes) {
    start_ += bytes;
    held_ -= bytes;
  }
  /// Goes to any offset; bytes that are held already are not read again.
  void MoveTo(uint64_t offset);
  /// Goes back by at most kBack bytes, also to before the place where this
  /// reader started: a decoder that goes on from a saved state may have taken
  /// them already. Not to before the start of the source.
  void GoBack(size_t bytes);
  static constexpr size_t kBack = 8;

  /// Fails with kCorrupt unless all bytes that are left are zero, as tapes pad
  /// files. `format` is that of what ends here, for the message.
  Status ExpectPadding(const char* format, const Request& request);

 private:
  SourcePtr source_;
  Buffer buffer_;
  size_t start_ = 0;  // in buffer_
  size_t held_ = 0;   // bytes of buffer_ from start_
  uint64_t end_;      // offset behind them
};

}  // namespace ctxfs
