// SPDX-License-Identifier: Apache-2.0
#include "core/content/spill_store.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "core/base/assert.h"
#include "core/base/interruptible_wait.h"
#include "core/codec/stream.h"
#include "core/content/read_context.h"

namespace ctxfs {
namespace {

/// Returns the memory, of the cache's budget, for decoding one block.
uint64_t MemoryFor(const BlockCache& cache) {
  return std::min(cache.budget(), kMaxStreamMemory);
}

}  // namespace

SpillStore::Pinned SpillStore::Find(Key key) {
  const MutexLock lock(mutex_);
  const auto it =
      std::find_if(kept_.begin(), kept_.end(),
                   [key](const Kept& one) { return one.key == key; });
  if (it == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, it);
  it->used = Clock::now();
  return it->bytes;
}

SpillFile::Loan SpillStore::FindFile(Key key) {
  const Pinned part = Find(key);
  if (part == nullptr || part->descriptor() < 0) return nullptr;
  return file_->Lend(part, file_->most() / 2);
}

SpillFile::Loan FindFile(const BlockCache& cache, const Block& block) {
  SpillStore* const store = cache.StoreOf(block);
  return store == nullptr ? nullptr : store->FindFile(block.key());
}

std::list<SpillStore::Kept>::iterator SpillStore::Oldest() {
  // Evicting a lent block would free no room.
  const auto last = std::find_if(
      kept_.rbegin(), kept_.rend(),
      [this](const Kept& one) { return !file_->IsLent(*one.bytes); });
  return last == kept_.rend() ? kept_.end() : std::prev(last.base());
}

SpillStore::Clock::time_point SpillStore::EvictableAt() {
  constexpr std::chrono::milliseconds kUnused(100);
  const auto oldest = Oldest();
  if (oldest == kept_.end()) return Clock::time_point::max();
  return std::min(oldest->until, oldest->used + kUnused);
}

SpillStore::Evicted SpillStore::EvictOldest() {
  Pinned bytes;  // freed after the lock is released
  const MutexLock lock(mutex_);
  const auto oldest = Oldest();
  if (oldest == kept_.end()) return Evicted::kNone;
  if (Clock::now() < EvictableAt()) return Evicted::kNoneYet;
  bytes = std::move(oldest->bytes);
  kept_.erase(oldest);
  return Evicted::kOne;
}

Result<SpillStore::Pinned> SpillStore::Reserve(uint64_t size) {
  // A block that would not fit even alone must not evict others.
  CTXFS_TRY(file_->CouldHold(size));
  while (true) {
    Result<Pinned> part = file_->Reserve(size);
    if (part || part.error().sys_errno != ENOSPC) return part;
    const Evicted evicted = EvictOldest();
    // If nothing can be evicted and not all bytes are lent, the room is taken
    // by a block in production, or by an evicted block that still has readers.
    // Both are temporary, so the caller waits.
    const bool ends = evicted == Evicted::kNone && bytes() > file_->lent();
    if (ends || evicted == Evicted::kNoneYet) return Pinned();
    if (evicted == Evicted::kNone) return part;
  }
}

Result<SpillStore::Pinned> SpillStore::Produce(const Block& block,
                                               const ReadContext& context) {
  CTXFS_TRY(context.CheckCharge(block.cost()));
  constexpr int kTurn = 4;
  const auto start = Clock::now();
  Result<Pinned> part = Reserve(block.streamed_size());
  if (!part || *part == nullptr) return part;
  CTXFS_TRY(context.Charge(block.cost()));
  uint64_t at = 0;
  Status made = block.Stream(
      [&](Bytes piece) {
        Status written = (*part)->Write(at, piece);
        at += piece.size();
        return written;
      },
      MemoryFor(context.cache()), context);
  if (made && at != block.streamed_size()) {
    made = Error{Code::kCorrupt, "a block is not as long as its file"};
  }
  if (!made) {
    if (made.error().code == Code::kChecksum) {
      context.cache().CountVerdict(Verdict::kFailed);
    }
    return std::move(made).error();
  }
  produced_ += at;
  if (block.verifies()) context.cache().CountVerdict(Verdict::kPassed);
  {
    const MutexLock lock(mutex_);
    CTXFS_ASSERT(std::ranges::find(kept_, block.key(), &Kept::key) ==
                 kept_.end());
    const auto now = Clock::now();
    kept_.push_front({block.key(), *part, now + kTurn * (now - start), now});
  }
  file_->room().NotifyAll();  // threads may wait to decode this block
  return part;
}

Result<SpillStore::Pinned> SpillStore::Get(const Block& block,
                                           const ReadContext& context) {
  Pinned found;
  const auto look = [&] {
    found = Find(block.key());
    return found != nullptr;
  };
  const auto produce = [&](const ReadContext& shared) -> Status {
    found = CTXFS_TRY(Produce(block, shared));
    return {};
  };
  if (look()) return found;  // most reads return here, without a listener
  InterruptibleWait wait(file_->room(), context.interrupt());
  while (true) {
    if (wait.IsInterrupted()) return context.Check().error();
    CTXFS_TRY(context.cache().Once(block.key(), context, look, produce,
                                   MemoryFor(context.cache())));
    if (found != nullptr) return found;
    // Holds no memory while it waits.
    const MutexLock lock(mutex_);
    wait.Wait(mutex_, EvictableAt());
  }
}

}  // namespace ctxfs
