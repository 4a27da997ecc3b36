// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"

namespace ctxfs {

/// Whether `stored` bytes of zstd can decode to `decoded` bytes. A block of 4
/// bytes is 128 KiB at the most (RFC 8878, section 3.1.1.2); what cannot be
/// compressed grows by little.
bool MayBeZstd(uint64_t stored, uint64_t decoded);

/// Memory with which every window is decoded that is allowed, up to 128 MiB:
/// the window, a piece on either side, and what zstd itself needs.
constexpr uint64_t kMostZstdStreamMemory = (128 + 3) * uint64_t{1 << 20};

struct ZstdStreamSizes {
  uint64_t decoded;  // bytes that the frames must decode to
  uint64_t memory;   // that decoding may take, at least 4 MiB
};

/// Decodes one or more zstd frames in pieces. `next` returns the next stored
/// bytes, at most 1 MiB that are valid until it is called again, and none at
/// the end. `sink` takes the decoded bytes. Fails with kCorrupt if they are
/// damaged, more or fewer than they must be, or need a dictionary; with
/// kNoMemory if a frame needs more than `memory`, or a window of over 128 MiB;
/// and with the errors of `next` and `sink`.
Status DecodeZstdStream(const std::function<Result<Bytes>()>& next,
                        const ZstdStreamSizes& sizes,
                        const std::function<Status(Bytes)>& sink,
                        const Interrupt& interrupt);

}  // namespace ctxfs
