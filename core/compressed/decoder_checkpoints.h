// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "core/base/mutex.h"
#include "core/compressed/decoder.h"
#include "core/content/block_cache.h"

namespace ctxfs {

/// A decoder that can continue at byte `at`.
struct StoppedDecoder {
  uint64_t owner = 0;  // of a CompressedSource
  uint64_t at = 0;     // decoded bytes before it
  std::unique_ptr<Decoder> decoder = nullptr;
  BlockCache::Lease memory = nullptr;  // held while the checkpoint is stored
};

/// An LRU store of stopped decoders, so that a sequential read decodes each
/// byte once. There is one per process. Safe for any number of threads.
class DecoderCheckpoints {
 public:
  static DecoderCheckpoints& Of();

  /// Takes the decoder of `owner` with the largest offset in [from, to];
  /// `decoder` is null if there is none.
  StoppedDecoder Take(uint64_t owner, uint64_t from, uint64_t to);
  /// Stores a decoder if `cache` can lend memory for it. Otherwise drops it and
  /// all stored decoders.
  void Keep(StoppedDecoder stopped, BlockCache& cache);
  /// Drops the decoders of `owner`.
  void Drop(uint64_t owner);

 private:
  static constexpr size_t kMax = 16;

  Mutex mutex_;
  std::list<StoppedDecoder> kept_ CTXFS_GUARDED_BY(mutex_);  // latest first
};

}  // namespace ctxfs
