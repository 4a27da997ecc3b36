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

/// A raw deflate decoder that stops at the start of each block. Another decoder
/// can continue there with only a bit offset and the previous 32 KiB of decoded
/// bytes. Uses zlib: ISA-L is three times as fast, but cannot stop at blocks.
class BlockInflater {
 public:
  BlockInflater();

  /// Prepares for another stream.
  void Reset();

  /// Like DeflateDecoder::Decode, but also stops at the start of a block. Takes
  /// no bytes after the end of the stream.
  Result<StreamStep> Decode(Bytes in, MutableBytes out);

  /// Returns how many bits of the last taken byte belong to the next block, 0
  /// to 7; nullopt unless the decoder has stopped at the start of a block.
  std::optional<unsigned> BitsOfNextBlock() const;

  /// Returns the last decoded bytes, at most 32 KiB.
  Buffer Window() const;

 private:
  struct Free {
    void operator()(z_stream_s* stream) const;
  };
  const std::unique_ptr<z_stream_s, Free> stream_;
  bool ended_ = false;
};

}  // namespace ctxfs
