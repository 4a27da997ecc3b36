// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "core/base/interrupt.h"
#include "core/base/request.h"
#include "core/content/block_cache.h"

namespace ctxfs {

/// A request with the cache that it reads through. Every function that produces
/// or reads blocks takes one. A Block, Content or container must not store one.
class ReadContext : public Request {
 public:
  /// Implicit, so that a cache can be passed where nothing interrupts a read.
  // NOLINTNEXTLINE(google-explicit-constructor)
  ReadContext(BlockCache& cache) : cache_(&cache) {}
  ReadContext(BlockCache& cache, const Interrupt& interrupt)
      : Request(interrupt), cache_(&cache) {}
  ReadContext(BlockCache& cache, const Request& request)
      : Request(request), cache_(&cache) {}

  BlockCache& cache() const { return *cache_; }

  /// This request, narrowed like Request::With.
  template <typename Narrow>
  ReadContext With(Narrow&& narrow) const {
    return {*cache_, Request::With(std::forward<Narrow>(narrow))};
  }

  /// The bytes of `block`, cached or produced now.
  Result<BlockCache::Pinned> Get(const Block& block) const {
    return cache_->Get(block, *this);
  }

 private:
  BlockCache* cache_;
};

/// A context outside any request, with its own cache of size 0.
class LoneContext {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator ReadContext() { return {cache_}; }

 private:
  BlockCache cache_{0};
};

}  // namespace ctxfs
