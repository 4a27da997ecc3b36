// SPDX-License-Identifier: Apache-2.0
#include "core/content/spill_store.h"

#include <algorithm>
#include <cerrno>

#include "core/base/limits.h"
#include "core/content/read_context.h"

namespace ctxfs {
namespace {

// The largest window that zstd makes without being asked for more, and pieces.
constexpr uint64_t kMostMemory = 130 * limits::kMiB;

uint64_t MemoryFor(const BlockCache& cache) {
  return std::min(cache.budget(), kMostMemory);
}

}  // namespace

SpillStore::Pinned SpillStore::Find(Key key) {
  const MutexLock lock(mutex_);
  const auto it =
      std::find_if(kept_.begin(), kept_.end(),
                   [key](const Kept& one) { return one.key == key; });
  if (it == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, it);
  return it->bytes;
}

bool SpillStore::EvictOldest() {
  Pinned oldest;  // freed without the lock
  const MutexLock lock(mutex_);
  if (kept_.empty()) return false;
  oldest = std::move(kept_.back().bytes);
  kept_.pop_back();
  return true;
}

Result<SpillStore::Pinned> SpillStore::Reserve(uint64_t size) {
  while (true) {
    Result<Pinned> part = file_->Reserve(size);
    if (part || part.error().sys_errno != ENOSPC || !EvictOldest()) return part;
  }
}

Status SpillStore::Produce(const Block& block, const ReadContext& context) {
  if (Status may = context.Spend(block.cost()); !may) return may;
  const Result<Pinned> part = Reserve(block.streamed_size());
  if (!part) return part.error();
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
  if (!made && made.error().code != Code::kChecksum) return made;
  if (block.verifies() || !made) {
    context.cache().CountVerdict(made ? Verdict::kPassed : Verdict::kFailed);
  }
  if (!made) return made;
  const MutexLock lock(mutex_);
  kept_.push_front({block.key(), *part});
  return {};
}

Result<SpillStore::Pinned> SpillStore::Get(const Block& block,
                                           const ReadContext& context) {
  Pinned found;
  const auto look = [&] {
    found = Find(block.key());
    return found != nullptr;
  };
  // Another block may take the room of this one at once.
  while (found == nullptr) {
    Status made = context.cache().Once(
        block.key(), context, look,
        [&](const ReadContext& shared) { return Produce(block, shared); },
        MemoryFor(context.cache()));
    if (!made) return std::move(made).error();
    if (found == nullptr) look();
  }
  return found;
}

}  // namespace ctxfs
