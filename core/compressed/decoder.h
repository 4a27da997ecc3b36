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

/// A place in a compressed file from which it can be decoded without the bytes
/// before. Offsets are in decoded bytes, and in bits of the stored data.
struct Place {
  uint64_t decoded = 0;
  uint64_t stored_bits = 0;
  /// Within a gzip member: what a decoder needs to continue, compressed with
  /// zstd. Empty at the start of a member, and of other compressions.
  std::string state = {};
  /// Whether `state` is the decoded bytes before a block of deflate, at most 32
  /// KiB; otherwise it is the memory of a decoder, for this process alone.
  bool at_block = false;
};

/// Whether places may be kept for other processes. Finding those of gzip takes
/// three times as long.
enum class PlaceUse : uint8_t { kThisProcess, kKept };

/// Collects places while a file is decoded for the first time. They are at
/// least `spacing` decoded bytes apart; in large files more, so that all
/// together take at most 32 MiB.
class Places {
 public:
  explicit Places(uint64_t spacing) : spacing_(spacing) {}

  /// Whether a place is wanted at `decoded`.
  bool Wants(uint64_t decoded) const {
    return places_.empty() || decoded - places_.back().decoded >= spacing_;
  }
  Status Add(Place place);
  std::vector<Place> Take() { return std::move(places_); }

 private:
  /// Doubles the spacing, and leaves out what is closer.
  void ThinOut();

  uint64_t spacing_;
  uint64_t bytes_ = 0;
  std::vector<Place> places_;
};

/// Decodes a compressed file forward from a place to its end. Used by one
/// thread at a time.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Decodes the next bytes; fewer than `out` only at the end of the file.
  /// Compares each checksum of the compression, unless decoding started within
  /// the bytes that it is of. Fails with kCorrupt or kChecksum and a byte of
  /// the stored data; the decoder must not be used after a failure.
  virtual Result<size_t> Fill(MutableBytes out, const Request& request) = 0;

  /// Whether the compression has a checksum of every byte that was decoded.
  virtual bool has_checksums() const { return true; }

  /// Bytes of memory that it takes, about.
  virtual uint64_t memory() const = 0;
};

class XzIndex;

/// Memory that decoding of zstd and xz may take. Most files need less than the
/// first; only one file at a time is decoded with the other.
constexpr uint64_t kUsualDecoderMemory = 16 * limits::kMiB;
constexpr uint64_t kMaxDecoderMemory = 160 * limits::kMiB;

// Decoders that start at `place`. `places`, unless it is null, gets further
// ones; the decoder then starts at the start of the file. Those that are given
// their `memory` fail with kNoMemory if they need more, and with kLimit if that
// is more than kMaxDecoderMemory.
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
