// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/codec/stream.h"

namespace ctxfs {

/// Whether `stored` bytes of zstd can decode to `decoded` bytes: 4 stored bytes
/// decode to at most 128 KiB (RFC 8878, section 3.1.1.2), and incompressible
/// data grows by little.
bool MayBeZstd(uint64_t stored, uint64_t decoded);

/// A StreamDecoder of one or more zstd frames, up to the end of the stored
/// bytes. Also fails with kCorrupt for frames that need a dictionary, and with
/// kNoMemory for a window that is over 128 MiB or does not fit into the memory
/// in StreamSizes.
Status DecodeZstdStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt);

}  // namespace ctxfs
