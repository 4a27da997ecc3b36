// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codec/stream.h"

struct z_stream_s;

namespace ctxfs {

/// A decoder of raw deflate that stops at the start of each block: there, a bit
/// offset and the 32 KiB decoded before are all that another decoder needs to
/// continue. By zlib: ISA-L is three times as fast, but does not stop there.
class BlockInflater {
 public:
  BlockInflater();

  /// Begins another stream.
  void Reset();

  /// As DeflateDecoder::Decode, but also ends at the start of a block. Takes no
  /// bytes behind the end of the stream.
  Result<StreamStep> Decode(Bytes in, MutableBytes out);

  /// The number of bits of the last taken byte that belong to the next block,
  /// below 8; nullopt unless it has stopped at the start of one.
  std::optional<unsigned> BitsOfNextBlock() const;

  /// The last decoded bytes, at most 32 KiB of them.
  Buffer Window() const;

 private:
  struct Free {
    void operator()(z_stream_s* stream) const;
  };
  const std::unique_ptr<z_stream_s, Free> stream_;
  bool ended_ = false;
};

}  // namespace ctxfs
