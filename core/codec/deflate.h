// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/codec/stream.h"

struct inflate_state;

namespace ctxfs {

/// A decoder of raw deflate, without a header of zlib or gzip.
class DeflateDecoder {
 public:
  DeflateDecoder();
  /// Continues as the decoder whose state SaveState has written to `state`.
  explicit DeflateDecoder(Bytes state);
  /// Continues at a block of which `window` has the decoded bytes before it, at
  /// most kWindow of them. `byte` is the stored byte in which the block starts,
  /// after the first `skip` bits; 0: it starts at the next byte.
  DeflateDecoder(Bytes window, std::byte byte, unsigned skip);
  ~DeflateDecoder();

  /// Begins another stream.
  void Reset();

  /// Bytes before a place that what follows it may copy.
  static constexpr size_t kWindow = size_t{32} << 10;

  /// Bytes of a decoder's state, about 90 KiB.
  static size_t StateBytes();
  /// Writes the state to `state`, which has StateBytes() bytes. For this
  /// process alone: the library believes all of it.
  void SaveState(MutableBytes state) const;

  /// Decodes from the start of `in` to the start of `out` until one of them is
  /// used up or the stream ends. Fails with kCorrupt; the decoder must not be
  /// used after that.
  Result<StreamStep> Decode(Bytes in, MutableBytes out);

  /// Bytes that were taken from behind the end of the stream, at most 8: what
  /// follows it starts as many bytes earlier.
  size_t taken_too_many() const;

 private:
  std::unique_ptr<inflate_state> state_;
};

/// Decodes the stream that `next` returns in pieces into exactly all of `out`,
/// or fails with kCorrupt. Bytes after the end of the stream are ignored.
/// Checks `interrupt` about every megabyte of output.
Status DecodeDeflate(const NextBytes& next, MutableBytes out,
                     const Interrupt& interrupt = NeverInterrupted());

/// Decodes the start of `stored`, which may be cut anywhere, until `out` is
/// full or `stored` ends or is damaged. Returns the number of bytes written.
size_t DecodeDeflatePrefix(Bytes stored, MutableBytes out);

}  // namespace ctxfs
