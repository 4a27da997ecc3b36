// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"

namespace ctxfs {

/// Returns the next bytes; empty at the end. They are valid until the next
/// call.
using NextBytes = std::function<Result<Bytes>()>;

/// Receives the next decoded bytes, which are valid until it returns.
using ByteSink = std::function<Status(Bytes)>;

struct StreamSizes {
  uint64_t decoded;  // size of the decoded stream, in bytes
  /// Bytes of memory for decoding: a stream whose window needs more is refused.
  /// A decoder may take 4 MiB even if `memory` is less.
  uint64_t memory;
  bool at_most = false;  // `decoded` is an upper bound, not the exact size
};

/// Memory that suffices to decode any accepted stream: a window of 128 MiB, a
/// piece of input and of output, and the library's own memory.
constexpr uint64_t kMaxStreamMemory = (128 + 3) * uint64_t{1 << 20};

/// Decodes the stream, which `next` returns in pieces, and passes the decoded
/// bytes to `sink`. Fails with kCorrupt if the stream is damaged or truncated,
/// or if its decoded size differs from `sizes`; with kNoMemory if it needs more
/// memory than `sizes` allows; and with the errors of `next` and `sink`.
/// Ignores bytes after the end of the stream. Checks `interrupt` about every
/// megabyte of output.
using StreamDecoder = Status (*)(const NextBytes& next,
                                 const StreamSizes& sizes, const ByteSink& sink,
                                 const Interrupt& interrupt);

/// Decodes one bzip2 stream.
Status DecodeBzip2Stream(const NextBytes& next, const StreamSizes& sizes,
                         const ByteSink& sink, const Interrupt& interrupt);

/// Decodes one Brotli stream (RFC 7932), whose window has at most 16 MiB.
Status DecodeBrotliStream(const NextBytes& next, const StreamSizes& sizes,
                          const ByteSink& sink, const Interrupt& interrupt);

/// Decodes LZMA as in ZIP: u16 version; u16 size of the properties, which is 5;
/// the properties, a byte for lc, lp and pb and the u32 size of the dictionary;
/// then the data, with or without an end marker.
Status DecodeLzmaStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt);

/// Decodes one stream of an .xz file, and compares its checksum.
Status DecodeXzStream(const NextBytes& next, const StreamSizes& sizes,
                      const ByteSink& sink, const Interrupt& interrupt);

/// Decodes one member of gzip, or one stream of zlib, and compares its
/// checksum.
Status DecodeGzipStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt);
Status DecodeZlibStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt);

/// Decodes Deflate64 (docs/formats/zip.md, section 7).
Status DecodeDeflate64Stream(const NextBytes& next, const StreamSizes& sizes,
                             const ByteSink& sink, const Interrupt& interrupt);

/// The result of one step of a decoder.
struct StreamStep {
  size_t taken = 0;  // bytes of input
  size_t made = 0;   // bytes of output
  bool finished = false;
};

/// Decodes from the start of `in` to the start of `out` until one is exhausted
/// or the stream ends.
using StepFunction =
    std::function<Result<StreamStep>(Bytes in, MutableBytes out)>;

/// Implements a StreamDecoder: calls `decode`, a step of a library, until the
/// stream ends. Error messages begin with `codec`.
Status DecodeBySteps(const char* codec, const StepFunction& decode,
                     const NextBytes& next, const StreamSizes& sizes,
                     const ByteSink& sink, const Interrupt& interrupt);

/// Counts the decoded bytes of a stream and passes them to its sink.
class StreamOutput {
 public:
  StreamOutput(const char* codec, uint64_t size, const ByteSink& sink)
      : codec_(codec), size_(size), sink_(sink) {}

  /// Bytes that are still missing.
  uint64_t left() const { return size_ - made_; }
  /// Forwards decoded bytes. Fails with kCorrupt if they exceed left().
  Status Put(Bytes decoded);
  /// Fails with kCorrupt if bytes are missing.
  Status End() const;

 private:
  Error WrongSize(const char* how) const;

  const char* const codec_;
  const uint64_t size_;
  const ByteSink& sink_;
  uint64_t made_ = 0;
};

}  // namespace ctxfs
