// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "core/base/mutex.h"
#include "core/compressed/decoder.h"
#include "core/content/block_cache.h"

namespace ctxfs {

/// A decoder, and where it has stopped.
struct StoppedDecoder {
  uint64_t owner = 0;  // of a CompressedSource
  uint64_t at = 0;     // decoded bytes before it
  std::unique_ptr<Decoder> decoder = nullptr;
  BlockCache::Lease memory = nullptr;  // that it takes while it is kept
};

/// Keeps the decoders that were used last, so that reading on costs no more
/// than decoding what is read. One for the whole process. Safe for any number
/// of threads.
class DecoderCheckpoints {
 public:
  static DecoderCheckpoints& Of();

  /// Takes the decoder of `owner` that has stopped last in [from, to]; without
  /// a decoder if there is none.
  StoppedDecoder Take(uint64_t owner, uint64_t from, uint64_t to);
  /// Keeps a decoder if `cache` has memory for it.
  void Keep(StoppedDecoder stopped, BlockCache& cache);
  /// Drops those of `owner`.
  void Drop(uint64_t owner);

 private:
  static constexpr size_t kMax = 16;

  Mutex mutex_;
  std::list<StoppedDecoder> kept_ CTXFS_GUARDED_BY(mutex_);  // latest first
};

}  // namespace ctxfs
