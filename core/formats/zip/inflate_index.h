// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>

#include "core/base/mutex.h"
#include "core/codec/checksum.h"
#include "core/codec/deflate.h"
#include "core/content/content.h"
#include "core/content/verdict.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// Larger deflate members are decoded in parts, which need an InflateIndex.
constexpr uint64_t kMaxDecodedAtOnce = 64ULL << 20;

/// The bytes [offset, offset + size) of a source in pieces of 256 KiB.
class StoredPieces {
 public:
  StoredPieces(const Source& source, uint64_t offset, uint64_t size)
      : source_(source), at_(offset), end_(offset + size) {}

  /// The next piece, valid until the next call; empty at the end.
  Result<Bytes> Next(const Request& request);

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
/// saves the state of the decoder at up to 64 places in the cache, as blocks of
/// 90 KiB. A place that the cache has dropped is made again from the one before
/// it. All handles of a member share one index, which takes less than 1 KiB.
/// Safe for any number of threads.
class InflateIndex final : public Transform,
                           public std::enable_shared_from_this<InflateIndex> {
 public:
  /// `verdict` is that of the member.
  InflateIndex(DeflateData data, std::shared_ptr<AtomicVerdict> verdict);

  /// The decoded bytes: one extent, however many there are. They are decoded in
  /// blocks of 8 MiB.
  Content Open() const;

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  /// Decodes and verifies the whole member, unless that was done before.
  Status Verify(const ReadContext& context) const override;

 private:
  class Part;
  class Place;
  class Run;

  uint64_t PartSize(uint64_t part) const;
  Status Scan(const ReadContext& context) const;
  Status Decode(const ReadContext& context) const;
  Result<Buffer> DecodePart(uint64_t part, const ReadContext& context) const;
  /// Returns a run from the last place at or before `part` that is in the
  /// cache, or else from the start of the member.
  Run Nearest(uint64_t part, const ReadContext& context) const;
  /// Puts the place that `run` has reached into the cache.
  Status Keep(const Run& run, const ReadContext& context) const;
  void NoteRecent(uint64_t part) const;

  const DeflateData data_;
  const std::shared_ptr<AtomicVerdict> verdict_;
  const uint64_t owner_ = NewOwner();
  const uint64_t parts_;
  const uint64_t spacing_;  // parts between two places that Scan keeps
  mutable std::atomic<bool> ready_ = false;
  /// Parts at which the last readers stopped: reading on continues there.
  mutable Mutex mutex_;
  mutable std::array<uint64_t, 16> recent_ CTXFS_GUARDED_BY(mutex_) = {};
  mutable size_t next_recent_ CTXFS_GUARDED_BY(mutex_) = 0;
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
