// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/decoder_checkpoints.h"

#include <iterator>
#include <utility>

namespace ctxfs {

DecoderCheckpoints& DecoderCheckpoints::Of() {
  static DecoderCheckpoints all;
  return all;
}

StoppedDecoder DecoderCheckpoints::Take(uint64_t owner, uint64_t from,
                                        uint64_t to) {
  const MutexLock lock(mutex_);
  auto best = kept_.end();
  for (auto one = kept_.begin(); one != kept_.end(); ++one) {
    if (one->owner != owner || one->at < from || one->at > to) continue;
    if (best == kept_.end() || one->at > best->at) best = one;
  }
  if (best == kept_.end()) return {};
  StoppedDecoder taken = std::move(*best);
  taken.memory = nullptr;
  kept_.erase(best);
  return taken;
}

void DecoderCheckpoints::Keep(StoppedDecoder stopped, BlockCache& cache) {
  Result<BlockCache::Lease> memory = cache.Lend(stopped.decoder->memory());
  std::list<StoppedDecoder> dropped;  // freed after the lock is released
  const MutexLock lock(mutex_);
  if (!memory) {
    // Evicting all checkpoints makes memory available for the next one.
    dropped.splice(dropped.end(), kept_);
    return;
  }
  stopped.memory = *std::move(memory);
  kept_.push_front(std::move(stopped));
  if (kept_.size() <= kMax) return;
  dropped.splice(dropped.end(), kept_, std::prev(kept_.end()));
}

void DecoderCheckpoints::Drop(uint64_t owner) {
  std::list<StoppedDecoder> dropped;
  const MutexLock lock(mutex_);
  for (auto one = kept_.begin(); one != kept_.end();) {
    const auto next = std::next(one);
    if (one->owner == owner) dropped.splice(dropped.end(), kept_, one);
    one = next;
  }
}

}  // namespace ctxfs
