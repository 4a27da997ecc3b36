// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"

namespace ctxfs {

enum class Codec : uint8_t { kNone, kZstd, kLz4 };

/// "none", "zstd" or "lz4".
const char* CodecName(Codec codec);

/// Whether `stored` begins as a zstd frame does.
bool LooksLikeZstd(Bytes stored);

/// Decodes all of `stored` into exactly all of `out`, or fails with kCorrupt.
/// Never writes past `out`, so a bomb costs no more than what was allocated.
/// kNone: sizes must be equal. `interrupt` is asked about every megabyte of
/// output, except where a function says otherwise.
Status Decode(Codec codec, Bytes stored, MutableBytes out,
              const Interrupt& interrupt = NeverInterrupted());

/// One or more zstd frames, with or without a content size; skippable frames
/// count as nothing. No dictionaries.
Status DecodeZstd(Bytes stored, MutableBytes out,
                  const Interrupt& interrupt = NeverInterrupted());

/// What a zstd frame at the start of some bytes decodes to, and how many of
/// those bytes it takes.
struct ZstdFrame {
  Buffer bytes;
  uint64_t stored_size;
};

/// The one frame that `stored` begins with, whether or not it tells its decoded
/// size. kLimit for more than `limit` bytes, of which no more than that many
/// are ever allocated; kCorrupt for a damaged one and for one that needs a
/// dictionary.
Result<ZstdFrame> DecodeZstdFrame(
    Bytes stored, uint64_t limit,
    const Interrupt& interrupt = NeverInterrupted());

/// One raw LZ4 block, no frame and no size prefix. A block that liblz4 refuses
/// is tried once more by DecodeLz4Lenient. liblz4 itself cannot be interrupted:
/// it decodes a gigabyte in about 0.4 s.
Status DecodeLz4(Bytes stored, MutableBytes out,
                 const Interrupt& interrupt = NeverInterrupted());

/// The first bytes of what `stored` decodes to, as many as `out` takes and as
/// `stored`, which may be cut anywhere, gives; their number. Nothing is checked
/// beyond them.
size_t DecodePrefix(Codec codec, Bytes stored, MutableBytes out);
size_t DecodeZstdPrefix(Bytes stored, MutableBytes out);
size_t DecodeLz4Prefix(Bytes stored, MutableBytes out);
/// One gzip member and nothing after it.
Status DecodeGzip(Bytes stored, MutableBytes out,
                  const Interrupt& interrupt = NeverInterrupted());

/// LZ4 sequences without the end-of-block rules: blocks that end in a match
/// and matches within the last twelve bytes, as the JavaScript writers make
/// them (docs/shard.md, section 9.2).
Status DecodeLz4Lenient(Bytes stored, MutableBytes out,
                        const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs
