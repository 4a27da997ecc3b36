// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"

namespace ctxfs {

/// Returns the decoded size that the header of a blosc buffer declares. Fails
/// with kCorrupt if there is no whole header, and with kUnsupported for another
/// version.
Result<uint64_t> BloscSize(Bytes stored);

/// Decodes a buffer of blosc, format version 1 (docs/formats/zarr.md, section
/// 5), into exactly all of `out`. Fails with kCorrupt, or with kUnsupported for
/// another version or an unknown compressor; the offsets of errors are bytes of
/// `stored`. Blosc has no checksum. Checks `interrupt` before each block.
Status DecodeBlosc(Bytes stored, MutableBytes out,
                   const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs
