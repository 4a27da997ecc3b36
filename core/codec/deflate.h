// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"

struct inflate_state;

namespace ctxfs {

/// A decoder of raw deflate, without a header of zlib or gzip.
class DeflateDecoder {
 public:
  DeflateDecoder();
  DeflateDecoder(const DeflateDecoder& other);
  DeflateDecoder& operator=(const DeflateDecoder&) = delete;
  ~DeflateDecoder();

  struct Step {
    size_t taken = 0;  // bytes of input
    size_t made = 0;   // bytes of output
    bool finished = false;
  };

  /// Decodes from the start of `in` to the start of `out` until one of them is
  /// used up or the stream ends. Fails with kCorrupt; the decoder must not be
  /// used after that.
  Result<Step> Decode(Bytes in, MutableBytes out);

 private:
  std::unique_ptr<inflate_state> state_;
};

/// Returns the next bytes of a stream; no bytes at its end. They are valid
/// until the next call.
using NextBytes = std::function<Result<Bytes>()>;

/// Decodes the stream that `next` returns in pieces into exactly all of `out`,
/// or fails with kCorrupt. Bytes after the end of the stream are ignored.
/// Checks `interrupt` about every megabyte of output.
Status DecodeDeflate(const NextBytes& next, MutableBytes out,
                     const Interrupt& interrupt = NeverInterrupted());

/// Decodes the start of `stored`, which may be cut anywhere, until `out` is
/// full or `stored` ends or is damaged. Returns the number of bytes written.
size_t DecodeDeflatePrefix(Bytes stored, MutableBytes out);

}  // namespace ctxfs
