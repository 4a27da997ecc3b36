// SPDX-License-Identifier: Apache-2.0
#include "core/content/block_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/content/read_context.h"

namespace ctxfs {
namespace {

/// Calls `work`; a failed allocation in it becomes an Error, so that whoever
/// waits for the outcome gets one. Locks are the caller's affair.
template <typename R, typename Work>
CTXFS_ANNOTATION(no_thread_safety_analysis)
R CatchBadAlloc(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{Code::kNoMemory, "out of memory"};
  }
}

}  // namespace

uint64_t BlockCache::Room() const {
  return budget_ - std::min(budget_, in_production_);
}

bool BlockCache::Enter(Key key, const std::function<bool()>& done) {
  while (!done()) {
    if (running_.insert(key).second) return true;
    changed_.Wait(mutex_);
  }
  return false;
}

void BlockCache::Leave(Key key) {
  running_.erase(key);
  changed_.NotifyAll();
}

void BlockCache::EvictTo(uint64_t bytes) {
  while (stats_.bytes > bytes) EvictOldest();
  stats_.blocks = kept_.size();
}

void BlockCache::EvictOldest() {
  const Kept& oldest = kept_.back();
  if (oldest.spent) spent_ -= oldest.bytes->size();
  stats_.bytes -= oldest.bytes->size();
  ++stats_.evictions;
  by_key_.erase(oldest.key);
  kept_.pop_back();
}

void BlockCache::Spend(const Block& block) {
  // Reads that were sent earlier may still come: not the last ones at once.
  // Small blocks may as well stay, and would make the walk below a long one.
  constexpr uint64_t kMostSpent = uint64_t{32} << 20;
  constexpr uint64_t kLeastSpent = uint64_t{1} << 20;
  const MutexLock lock(mutex_);
  const auto it = by_key_.find(block.key());
  if (it == by_key_.end() || it->second->spent ||
      it->second->bytes->size() < kLeastSpent) {
    return;
  }
  // Behind everything that is not spent, before what was spent earlier.
  auto place = kept_.end();
  while (place != kept_.begin() && std::prev(place)->spent) --place;
  kept_.splice(place, kept_, it->second);
  it->second->spent = true;
  spent_ += it->second->bytes->size();
  while (spent_ > kMostSpent && kept_.back().spent &&
         kept_.back().key != block.key()) {
    EvictOldest();
  }
  stats_.blocks = kept_.size();
}

Result<BlockCache::Pinned> BlockCache::Get(const Block& block) {
  return Get(block, ReadContext(*this));
}

Result<BlockCache::Pinned> BlockCache::Get(const Block& block,
                                           const ReadContext& context) {
  const Key key = block.key();
  Pinned found;
  MutexLock lock(mutex_);
  const auto look = [&]() CTXFS_REQUIRES(mutex_) {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return false;
    // A late read of a spent block is no reason to keep it.
    if (!it->second->spent) kept_.splice(kept_.begin(), kept_, it->second);
    found = it->second->bytes;
    ++stats_.hits;
    return true;
  };
  if (!Enter(key, look)) return found;

  Result<Pinned> kept = CatchBadAlloc<Result<Pinned>>(
      [&]() CTXFS_REQUIRES(mutex_) { return ProduceAndKeep(block, context); });
  Leave(key);
  return kept;
}

Result<BlockCache::Pinned> BlockCache::ProduceAndKeep(
    const Block& block, const ReadContext& context) {
  const uint64_t cost = block.cost();
  while (in_production_ > 0 && cost > Room()) changed_.Wait(mutex_);
  in_production_ += cost;
  EvictTo(Room());
  mutex_.unlock();
  Result<Buffer> produced =
      CatchBadAlloc<Result<Buffer>>([&] { return block.Produce(context); });
  mutex_.lock();
  in_production_ -= cost;
  if (!produced) {
    if (produced.error().code == Code::kChecksum) ++stats_.failed;
    return std::move(produced).error();
  }

  // Whatever may fail for want of memory comes before anything changes.
  auto bytes = std::make_shared<const Buffer>(std::move(*produced));
  std::list<Kept> one;
  one.push_back({block.key(), bytes});
  EvictTo(Room() - std::min<uint64_t>(Room(), bytes->size()));
  by_key_.emplace(block.key(), one.begin());
  kept_.splice(kept_.begin(), one);
  stats_.bytes += bytes->size();
  stats_.blocks = kept_.size();
  stats_.produced += bytes->size();
  if (block.verifies()) ++stats_.passed;
  return bytes;
}

Status BlockCache::Once(Key key, const std::function<bool()>& done,
                        const std::function<Status()>& work) {
  MutexLock lock(mutex_);
  if (!Enter(key, done)) return {};
  lock.Unlock();
  Status outcome = CatchBadAlloc<Status>(work);
  lock.Lock();
  Leave(key);
  return outcome;
}

void BlockCache::CountVerdict(Verdict verdict) {
  const MutexLock lock(mutex_);
  if (verdict == Verdict::kPassed) ++stats_.passed;
  if (verdict == Verdict::kFailed) ++stats_.failed;
}

void BlockCache::Drop() {
  const MutexLock lock(mutex_);
  EvictTo(0);
}

BlockCache::Stats BlockCache::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace ctxfs
