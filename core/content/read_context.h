// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/content/block_cache.h"

namespace ctxfs {

/// What a request that may read carries with it: today the cache. One lives as
/// long as its request; keep the BlockCache, not the context, for longer.
class ReadContext {
 public:
  /// Implicit, so that a cache can be passed where nothing interrupts a read.
  // NOLINTNEXTLINE(google-explicit-constructor)
  ReadContext(BlockCache& cache) : cache_(&cache) {}

  BlockCache& cache() const { return *cache_; }

  /// The bytes of `block`, from the cache or produced now.
  Result<BlockCache::Pinned> Get(const Block& block) const {
    return cache_->Get(block, *this);
  }

 private:
  BlockCache* cache_;
};

}  // namespace ctxfs
