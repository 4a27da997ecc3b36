// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/mutex.h"
#include "core/codec/checksum.h"
#include "core/codec/deflate.h"
#include "core/content/content.h"
#include "core/content/verdict.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// Larger deflate members are decoded in parts, which need an InflateIndex.
constexpr uint64_t kMostDecodedAtOnce = 64ULL << 20;

/// The bytes [offset, offset + size) of a source in pieces of 256 KiB.
class StoredPieces {
 public:
  StoredPieces(const Source& source, uint64_t offset, uint64_t size)
      : source_(source), at_(offset), end_(offset + size) {}

  /// The next piece, valid until the next call; empty at the end.
  Result<Bytes> Next();

 private:
  const Source& source_;
  uint64_t at_;
  const uint64_t end_;
  Buffer piece_;
};

/// The data of a deflate member. Offsets and sizes in bytes.
struct DeflateData {
  std::shared_ptr<const Source> source;
  uint64_t offset = 0;
  uint64_t stored_size = 0;
  uint64_t size = 0;
  Checksum checksum;  // of the decoded bytes
};

/// Decodes any part of a deflate member without all of the parts before it. The
/// first use decodes the whole member once, compares size and checksum, and
/// keeps the state of the decoder at up to 64 places, about 6 MB. Safe for any
/// number of threads.
class InflateIndex : public std::enable_shared_from_this<InflateIndex> {
 public:
  /// `verdict` is that of the member.
  InflateIndex(DeflateData data, std::shared_ptr<AtomicVerdict> verdict);

  /// The decoded bytes, in blocks of 8 MiB.
  Content Open() const;

 private:
  class Part;
  /// A decoder that has decoded the bytes before a part, from `taken` bytes of
  /// input.
  struct Place {
    uint64_t part = 0;
    uint64_t taken = 0;
    std::shared_ptr<const DeflateDecoder> decoder;
  };

  uint64_t PartSize(uint64_t part) const;
  /// Makes the index unless it exists. Fails if the member is damaged.
  Status Prepare(const ReadContext& context) const;
  Status Scan(const ReadContext& context) const;
  Status Decode(std::vector<Place>& places, const ReadContext& context) const;
  Result<Buffer> DecodePart(uint64_t part, const ReadContext& context) const;
  /// The nearest place at or before a part.
  Place NearestPlace(uint64_t part) const;
  void Remember(Place place) const;

  const DeflateData data_;
  const std::shared_ptr<AtomicVerdict> verdict_;
  const uint64_t owner_ = NewOwner();
  const uint64_t parts_;
  const uint64_t spacing_;             // parts between two places of places_
  mutable std::vector<Place> places_;  // written once, before ready_
  mutable std::atomic<bool> ready_ = false;
  /// Where the last readers stopped, so that reading on continues there.
  mutable Mutex mutex_;
  mutable std::list<Place> recent_ CTXFS_GUARDED_BY(mutex_);
};

/// The indexes of the members that were read last.
class InflateIndexes {
 public:
  /// The index of member `number`, made from `data` if there is none.
  std::shared_ptr<const InflateIndex> Get(
      uint32_t number, DeflateData data,
      std::shared_ptr<AtomicVerdict> verdict) const;

 private:
  struct Kept {
    uint32_t number;
    bool checked;
    std::shared_ptr<const InflateIndex> index;
  };
  mutable Mutex mutex_;
  mutable std::list<Kept> kept_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs::zip
