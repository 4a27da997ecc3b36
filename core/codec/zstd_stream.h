// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/codec/stream.h"

namespace ctxfs {

/// Whether `stored` bytes of zstd can decode to `decoded` bytes. A block of 4
/// bytes is 128 KiB at the most (RFC 8878, section 3.1.1.2); what cannot be
/// compressed grows by little.
bool MayBeZstd(uint64_t stored, uint64_t decoded);

/// A StreamDecoder of one or more zstd frames, up to the end of the stored
/// bytes. Fails with kCorrupt also if they need a dictionary, and with
/// kNoMemory for a window of over 128 MiB.
Status DecodeZstdStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt);

}  // namespace ctxfs
