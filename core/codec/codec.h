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

/// Whether `stored` starts with the magic number of a zstd frame.
bool LooksLikeZstd(Bytes stored);

/// Decodes all of `stored` into exactly all of `out`, or fails with kCorrupt.
/// Never writes past `out`, so a decompression bomb uses no more memory than
/// the caller has allocated. For kNone, fails unless the sizes are equal.
/// Checks `interrupt` about every megabyte of output, unless the comment of the
/// codec's function says otherwise.
Status Decode(Codec codec, Bytes stored, MutableBytes out,
              const Interrupt& interrupt = NeverInterrupted());

/// Decodes one or more zstd frames, with or without a content size. Ignores
/// skippable frames. Fails for a frame that needs a dictionary. May decode
/// frames in parallel, in up to 8 threads.
Status DecodeZstd(Bytes stored, MutableBytes out,
                  const Interrupt& interrupt = NeverInterrupted());

struct ZstdFrame {
  Buffer bytes;          // decoded
  uint64_t stored_size;  // bytes of the frame
};

/// Decodes the first frame of `stored`, with or without a content size. Fails
/// with kLimit if it decodes to more than `limit` bytes, and with kCorrupt if
/// it is damaged or needs a dictionary. Allocates at most `limit` bytes if the
/// frame has a content size. Otherwise it decodes into growing buffers, which
/// may take twice as much, and checks `interrupt` only before each attempt.
Result<ZstdFrame> DecodeZstdFrame(
    Bytes stored, uint64_t limit,
    const Interrupt& interrupt = NeverInterrupted());

/// Decodes one raw LZ4 block, without a frame or a size prefix. Blocks that
/// liblz4 refuses are decoded by DecodeLz4Lenient. liblz4 itself cannot be
/// interrupted: it decodes a gigabyte in about 0.4 s.
Status DecodeLz4(Bytes stored, MutableBytes out,
                 const Interrupt& interrupt = NeverInterrupted());

/// Decodes one or more LZ4 frames, with or without a content size. Ignores
/// skippable frames. Checks the checksums that a frame has.
Status DecodeLz4Frames(Bytes stored, MutableBytes out,
                       const Interrupt& interrupt = NeverInterrupted());

/// Decodes the start of `stored`, which may be truncated, until `out` is full
/// or `stored` ends or is damaged. Returns the number of bytes written.
size_t DecodePrefix(Codec codec, Bytes stored, MutableBytes out);
size_t DecodeZstdPrefix(Bytes stored, MutableBytes out);
size_t DecodeLz4Prefix(Bytes stored, MutableBytes out);

/// Decodes one gzip member of less than 4 GiB, without trailing bytes.
Status DecodeGzip(Bytes stored, MutableBytes out,
                  const Interrupt& interrupt = NeverInterrupted());

/// Decodes raw Snappy, without a frame. The decoded size must be that of `out`.
Status DecodeSnappy(Bytes stored, MutableBytes out,
                    const Interrupt& interrupt = NeverInterrupted());

/// Decodes one stream of zlib (RFC 1950), without trailing bytes.
Status DecodeZlib(Bytes stored, MutableBytes out,
                  const Interrupt& interrupt = NeverInterrupted());

/// Decodes LZ4 sequences without the end-of-block rules: accepts blocks that
/// end in a match, and matches within the last twelve bytes, as the JavaScript
/// writers produce (docs/formats/shard.md, section 9.2).
Status DecodeLz4Lenient(Bytes stored, MutableBytes out,
                        const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs
