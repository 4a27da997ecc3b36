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

/// What decoding a compressed file once, and comparing all its checksums, has
/// found: how long it is, where decoding can start, and a hash of each part,
/// with which later decoding is compared.
struct DecodedIndex {
  static constexpr uint64_t kPart = 256 * limits::kKiB;

  Compression compression = Compression::kNone;
  uint64_t size = 0;     // decoded bytes
  bool verified = true;  // whether all of them have a checksum
  uint64_t memory = 0;   // that a decoder takes at most
  std::vector<Place> places;
  std::vector<uint64_t> hashes;  // XXH3 of each kPart decoded bytes
  std::shared_ptr<const XzIndex> xz;

  /// The last place at or before `decoded`.
  const Place& PlaceBefore(uint64_t decoded) const;
  std::unique_ptr<Decoder> DecoderAt(SourcePtr source,
                                     const Place& place) const;
};

/// Takes a part that was decoded, by its number.
using KeepPart = std::function<void(uint64_t part, Bytes bytes)>;

/// Decodes `source`. Fails with kCorrupt or kChecksum and a byte of `source` if
/// it is damaged, is cut off or has other bytes after its end; with kLimit if
/// it decodes to more than 16 MiB and 1,024 times its size, or than 1 TiB.
/// Calls `keep`, unless it is null, for each part. Only an index with places
/// for that `use` can be saved.
Result<std::shared_ptr<const DecodedIndex>> IndexCompressed(
    SourcePtr source, Compression compression, uint64_t memory,
    const Request& request, const KeepPart& keep = nullptr,
    PlaceUse use = PlaceUse::kThisProcess);

/// The memory that decoding usually takes. If it needs more, IndexCompressed
/// fails with kNoMemory, and kMaxDecoderMemory is enough for any file that is
/// not refused.
uint64_t UsualMemory(Compression compression);

/// The hash of DecodedIndex::hashes.
uint64_t PartHash(Bytes part);

}  // namespace ctxfs
