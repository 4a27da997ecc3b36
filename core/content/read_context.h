// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/interrupt.h"
#include "core/content/block_cache.h"
#include "core/content/work.h"

namespace ctxfs {

/// The state of one request that every function that may read receives: the
/// cache, whether the requester has given up, and how much work the request may
/// still cause. Lives as long as the request; a Block, Content or container
/// must not keep one.
class ReadContext {
 public:
  /// Implicit, so that a cache can be passed where nothing interrupts a read.
  // NOLINTNEXTLINE(google-explicit-constructor)
  ReadContext(BlockCache& cache,
              const Interrupt& interrupt = NeverInterrupted())
      : cache_(&cache), interrupt_(&interrupt) {}

  BlockCache& cache() const { return *cache_; }
  const Interrupt& interrupt() const { return *interrupt_; }

  /// This request, interrupted by `interrupt` instead.
  ReadContext With(const Interrupt& interrupt) const {
    ReadContext context = *this;
    context.interrupt_ = &interrupt;
    return context;
  }

  /// kInterrupted if the requester has given up. Every loop that may run for
  /// more than a few milliseconds calls it.
  Status Check() const { return interrupt_->Check(); }

  /// Like Check, before work of about `bytes` bytes outside of a Block.
  Status CheckFor(uint64_t bytes) const { return interrupt_->CheckFor(bytes); }

  /// This request, limited to `work`.
  ReadContext With(Work& work) const {
    ReadContext context = *this;
    context.work_ = &work;
    return context;
  }

  /// Counts bytes that are about to be decoded, computed, rendered or scanned.
  /// kLimit if they are more than the request may cause.
  Status Charge(uint64_t bytes) const {
    return work_ == nullptr ? Status() : work_->Charge(bytes);
  }

  /// kLimit if Charge(bytes) would fail: refuses work before it begins.
  Status CheckCharge(uint64_t bytes) const {
    return work_ == nullptr ? Status() : work_->CheckCharge(bytes);
  }

  /// The bytes of `block`, from the cache or produced now.
  Result<BlockCache::Pinned> Get(const Block& block) const {
    return cache_->Get(block, *this);
  }

 private:
  BlockCache* cache_;
  const Interrupt* interrupt_;
  Work* work_ = nullptr;  // null: no bound
};

/// A context outside any request, with a cache of its own that keeps nothing.
class LoneContext {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator ReadContext() { return {cache_}; }

 private:
  BlockCache cache_{0};
};

}  // namespace ctxfs
