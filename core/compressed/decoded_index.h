// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/limits.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/compressed/compression.h"
#include "core/compressed/decoder.h"
#include "core/io/source.h"

namespace ctxfs {

/// The result of decoding a compressed file once and verifying its checksums:
/// the decoded size, the places where decoding can start, and a hash of each
/// part, which later decoding must match.
struct DecodedIndex {
  static constexpr uint64_t kPart = 256 * limits::kKiB;

  Compression compression = Compression::kNone;
  uint64_t size = 0;     // decoded bytes
  bool verified = true;  // whether checksums cover all decoded bytes
  uint64_t memory = 0;   // bytes that a decoder takes at most
  std::vector<Place> places;
  std::vector<uint64_t> hashes;  // XXH3 of each kPart decoded bytes
  std::shared_ptr<const XzIndex> xz;

  /// Returns the last place at or before byte `decoded`.
  const Place& PlaceBefore(uint64_t decoded) const;
  std::unique_ptr<Decoder> DecoderAt(SourcePtr source,
                                     const Place& place) const;
};

/// Receives a decoded part and its number.
using KeepPart = std::function<void(uint64_t part, Bytes bytes)>;

/// Decodes `source`, and calls `keep`, unless null, for each part. Fails with
/// kCorrupt or kChecksum and an offset in `source` if the file is damaged,
/// truncated, or followed by other bytes. Fails with kUnsupported for a feature
/// of zstd or xz that is not known, such as a dictionary. Fails with kLimit if
/// the decoded size exceeds 16 MiB + 1,024 times the file's size, or 1 TiB. For
/// gzip, `use` must be PlaceUse::kKept if the index is to be saved.
Result<std::shared_ptr<const DecodedIndex>> IndexCompressed(
    SourcePtr source, Compression compression, uint64_t memory,
    const Request& request, const KeepPart& keep = nullptr,
    PlaceUse use = PlaceUse::kThisProcess);

/// Returns the memory that suffices to decode most files. If a file needs more,
/// IndexCompressed fails with kNoMemory, and should be retried with
/// kMaxDecoderMemory. If a file needs even more, the retry fails with kLimit.
uint64_t UsualMemory(Compression compression);

/// Computes an element of DecodedIndex::hashes.
uint64_t PartHash(Bytes part);

}  // namespace ctxfs
