// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/stopped_decoders.h"

#include <utility>

namespace ctxfs {

StoppedDecoders& StoppedDecoders::Of() {
  static StoppedDecoders all;
  return all;
}

StoppedDecoder StoppedDecoders::Take(uint64_t owner, uint64_t from,
                                     uint64_t to) {
  const MutexLock lock(mutex_);
  auto best = kept_.end();
  for (auto one = kept_.begin(); one != kept_.end(); ++one) {
    if (one->owner != owner || one->at < from || one->at > to) continue;
    if (best == kept_.end() || one->at > best->at) best = one;
  }
  if (best == kept_.end()) return {};
  StoppedDecoder taken = std::move(*best);
  kept_.erase(best);
  return taken;
}

void StoppedDecoders::Keep(StoppedDecoder stopped) {
  std::list<StoppedDecoder> dropped;  // outside of the lock
  const MutexLock lock(mutex_);
  kept_.push_front(std::move(stopped));
  uint64_t bytes = 0;
  size_t count = 0;
  for (auto one = kept_.begin(); one != kept_.end();) {
    bytes += one->decoder->memory();
    const auto next = std::next(one);
    if (++count > 1 && (count > kMost || bytes > kMostBytes)) {
      dropped.splice(dropped.end(), kept_, one);
    }
    one = next;
  }
}

void StoppedDecoders::Drop(uint64_t owner) {
  std::list<StoppedDecoder> dropped;
  const MutexLock lock(mutex_);
  for (auto one = kept_.begin(); one != kept_.end();) {
    const auto next = std::next(one);
    if (one->owner == owner) dropped.splice(dropped.end(), kept_, one);
    one = next;
  }
}

}  // namespace ctxfs
