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

/// Reads a source sequentially, in pieces of 256 KiB.
class StoredReader {
 public:
  StoredReader(SourcePtr source, uint64_t at)
      : source_(std::move(source)), end_(at) {}

  /// The offset of the next byte.
  uint64_t at() const { return end_ - held_; }
  bool AtEnd() const { return at() >= source_->size(); }
  const SourcePtr& source() const { return source_; }

  /// Returns the next bytes without taking them: at least `least`, fewer only
  /// if the source ends. Valid until the next call.
  Result<Bytes> Peek(const Request& request, size_t least = 1);
  /// Takes the next bytes; returns none at the end.
  Result<Bytes> Next(const Request& request) {
    const Bytes bytes = CTXFS_TRY(Peek(request));
    Skip(bytes.size());
    return bytes;
  }
  /// Skips `bytes` bytes that Peek has returned.
  void Skip(size_t bytes) {
    start_ += bytes;
    held_ -= bytes;
  }
  /// Seeks to any offset. Keeps the buffered bytes that follow `offset` if
  /// `offset` is not before at().
  void MoveTo(uint64_t offset);
  /// Seeks back by at most kBack bytes, but not before the start of the source.
  /// The new offset may precede the first offset of this reader: a decoder
  /// restored from a saved state may have consumed bytes before it.
  void GoBack(size_t bytes);
  static constexpr size_t kBack = 8;

  /// Fails with kCorrupt unless all remaining bytes are zero; tapes pad files
  /// with zeros. `format` names the compression in the message.
  Status ExpectPadding(const char* format, const Request& request);

 private:
  SourcePtr source_;
  Buffer buffer_;
  size_t start_ = 0;  // in buffer_
  size_t held_ = 0;   // bytes of buffer_ from start_
  uint64_t end_;      // source offset of the end of the buffered bytes
};

}  // namespace ctxfs
