// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs {

/// Reads headers that are scattered over a source, at mostly increasing
/// offsets. Reads ahead by up to 256 KiB while each header is close to the
/// previous one, and 512 bytes otherwise: a million members of 1 KiB cost a few
/// thousand preads, and a header between two tensors of 1 GiB costs one small
/// pread. If headers are at equal distances, announces the next ones to the
/// source (Prefetch). Not thread-safe.
class WindowReader {
 public:
  /// The most bytes that one call of At returns.
  static constexpr size_t kMax = 4096;

  /// `source` and `request` must outlive this object.
  WindowReader(const Source& source, const Request& request)
      : source_(source), request_(request) {}

  /// Returns the bytes [offset, offset + length); `length` must be at most
  /// kMax. The result is valid until the next call. Fails with kCorrupt if the
  /// bytes extend past the end of the source, otherwise like Source::ReadAt.
  Result<Bytes> At(uint64_t offset, size_t length) {
    if (offset >= start_ && InBounds(offset - start_, length, filled_)) {
      used_ = offset - start_ + length;
      return Bytes(window_.span())
          .subspan(static_cast<size_t>(offset - start_), length);
    }
    return Read(offset, length);
  }

  /// Returns how many bytes of [offset, end) one call of At can return; at most
  /// `most`, which must not exceed kMax.
  static size_t Room(uint64_t offset, uint64_t end, size_t most = kMax) {
    const uint64_t left = end > offset ? end - offset : 0;
    return static_cast<size_t>(left < most ? left : most);
  }

 private:
  Result<Bytes> Read(uint64_t offset, size_t length);
  void Adapt(uint64_t offset);
  void Announce(uint64_t offset);

  const Source& source_;
  const Request& request_;
  Buffer window_;
  uint64_t start_ = 0;      // of the window, in the source
  uint64_t filled_ = 0;     // bytes in the window
  uint64_t used_ = 0;       // window bytes up to the end of the last result
  size_t next_size_ = 512;  // of a read
  uint64_t far_ = 0;        // the last header not close to its predecessor
  uint64_t distance_ = 0;   // from the far header before far_ to far_
  uint64_t announced_ = 0;  // end of the announced headers
};

}  // namespace ctxfs
