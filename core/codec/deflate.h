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

/// A decoder of raw deflate, without the header of zlib or gzip.
class DeflateDecoder {
 public:
  DeflateDecoder();
  /// Continues from a state that SaveState wrote.
  explicit DeflateDecoder(Bytes state);
  /// Continues at a block. `window` has the decoded bytes before the block;
  /// only the last kWindow of them are used. The block starts after the lowest
  /// `skip` bits of the stored byte `byte`, and the input of Decode is the
  /// bytes after `byte`. For `skip` 0, `byte` is ignored.
  DeflateDecoder(Bytes window, std::byte byte, unsigned skip);
  ~DeflateDecoder();

  void Reset();

  /// Maximum distance of a match, in bytes.
  static constexpr size_t kWindow = size_t{32} << 10;

  /// Bytes of a decoder's state, about 85 KiB.
  static size_t StateBytes();
  /// Writes the state to `state`, which must have StateBytes() bytes. A process
  /// must load only states that it has saved itself: the library does not check
  /// a state, so a forged one would be unsafe.
  void SaveState(MutableBytes state) const;

  /// Decodes from the start of `in` to the start of `out` until one is
  /// exhausted or the stream ends. Fails with kCorrupt; after a failure, the
  /// decoder must not be used.
  Result<StreamStep> Decode(Bytes in, MutableBytes out);

  /// Input bytes consumed past the end of the stream, at most 8.
  size_t taken_too_many() const;

 private:
  std::unique_ptr<inflate_state> state_;
};

/// Decodes the stream, which `next` returns in pieces, into exactly all of
/// `out`, or fails with kCorrupt. Ignores bytes after the end of the stream.
/// Checks `interrupt` about every megabyte of output.
Status DecodeDeflate(const NextBytes& next, MutableBytes out,
                     const Interrupt& interrupt = NeverInterrupted());

/// Decodes the start of `stored`, which may be truncated, until `out` is full
/// or `stored` ends or is damaged. Returns the number of bytes written.
size_t DecodeDeflatePrefix(Bytes stored, MutableBytes out);

}  // namespace ctxfs
