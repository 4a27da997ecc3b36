// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs {

/// A place in a compressed file where decoding can start without the preceding
/// bytes: an offset in decoded bytes, and an offset in stored bits.
struct Place {
  uint64_t decoded = 0;
  uint64_t stored_bits = 0;
  /// The state of the decoder at a place within a gzip member, compressed by
  /// zstd. Empty at the start of a member, and for files that are not gzip.
  std::string state = {};
  /// If true, `state` decompresses to the decoded bytes before a deflate block,
  /// at most 32 KiB. If false, it decompresses to a memory image of a decoder,
  /// which is valid only in this process.
  bool at_block = false;
};

/// Whether places may be saved for other processes. For gzip, indexing for
/// kKept takes three times as long.
enum class PlaceUse : uint8_t { kThisProcess, kKept };

/// Collects places while a file is decoded for the first time. Places are at
/// least `spacing` decoded bytes apart. The spacing doubles whenever all places
/// together exceed 32 MiB.
class Places {
 public:
  explicit Places(uint64_t spacing) : spacing_(spacing) {}

  /// Whether byte `decoded` is far enough from the last place to add one.
  bool Wants(uint64_t decoded) const {
    return places_.empty() || decoded - places_.back().decoded >= spacing_;
  }
  Status Add(Place place);
  std::vector<Place> Take() { return std::move(places_); }

 private:
  /// Doubles the spacing, and drops places that are closer than it.
  void ThinOut();

  uint64_t spacing_;
  uint64_t bytes_ = 0;
  std::vector<Place> places_;
};

/// Decodes a compressed file forward from a place to its end. Must be used by
/// one thread at a time.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Decodes the next bytes; fills `out` except at the end of the file.
  /// Verifies each checksum of the compression, unless decoding started within
  /// the bytes that it covers. Fails with kCorrupt, kChecksum or kUnsupported,
  /// and an offset in the stored data; the decoder must not be used after a
  /// failure.
  virtual Result<size_t> Fill(MutableBytes out, const Request& request) = 0;

  /// Whether a checksum of the compression covers every byte decoded so far.
  virtual bool has_checksums() const { return true; }

  /// The approximate memory of the decoder, in bytes.
  virtual uint64_t memory() const = 0;
};

class XzIndex;

/// Memory limits for decoding zstd and xz, in bytes. Most files need less than
/// kUsualDecoderMemory. The others are decoded with kMaxDecoderMemory, all of
/// which counts against the budget of the cache.
constexpr uint64_t kUsualDecoderMemory = 16 * limits::kMiB;
constexpr uint64_t kMaxDecoderMemory = 160 * limits::kMiB;

// Return decoders that start at `place`. If `places` is not null, decoding adds
// places to it; `place` must then be the start of the file. A decoder with a
// `memory` parameter fails with kNoMemory if it needs more than `memory`, and
// with kLimit if it needs more than kMaxDecoderMemory.
std::unique_ptr<Decoder> MakeGzipDecoder(SourcePtr source, const Place& place,
                                         Places* places, PlaceUse use);
std::unique_ptr<Decoder> MakeZstdDecoder(SourcePtr source, const Place& place,
                                         Places* places, uint64_t memory);
std::unique_ptr<Decoder> MakeBzip2Decoder(SourcePtr source, const Place& place,
                                          Places* places);
std::unique_ptr<Decoder> MakeXzDecoder(SourcePtr source,
                                       std::shared_ptr<const XzIndex> index,
                                       const Place& place, Places* places,
                                       uint64_t memory);

}  // namespace ctxfs
