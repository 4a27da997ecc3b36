// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/codec/stream.h"

namespace ctxfs {

/// Decodes `stored`, which comes in pieces of `piece` bytes, to `size` bytes.
inline Result<std::string> UnpackStream(
    StreamDecoder decode, std::string_view stored, uint64_t size,
    size_t piece = 1000, uint64_t memory = kMaxStreamMemory,
    const Interrupt& interrupt = NeverInterrupted()) {
  std::string decoded;
  const Status done = decode(
      [&]() -> Result<Bytes> {
        const std::string_view next = stored.substr(0, piece);
        stored.remove_prefix(next.size());
        return AsBytes(next);
      },
      {size, memory},
      [&](Bytes bytes) {
        decoded += AsText(bytes);
        return Status();
      },
      interrupt);
  if (!done) return done.error();
  return decoded;
}

}  // namespace ctxfs
