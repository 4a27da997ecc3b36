// SPDX-License-Identifier: Apache-2.0
#include "core/content/spill_store.h"

#include <algorithm>
#include <cerrno>

#include "core/codec/zstd_stream.h"
#include "core/content/read_context.h"

namespace ctxfs {
namespace {

/// Bytes of the cache's memory that decoding one block may take.
uint64_t MemoryFor(const BlockCache& cache) {
  return std::min(cache.budget(), kMostZstdStreamMemory);
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
  // Others must not make room for what does not fit in any case.
  if (Status could = file_->CouldHold(size); !could) return could.error();
  while (true) {
    Result<Pinned> part = file_->Reserve(size);
    if (part || part.error().sys_errno != ENOSPC || !EvictOldest()) return part;
  }
}

Result<SpillStore::Pinned> SpillStore::Produce(const Block& block,
                                               const ReadContext& context) {
  if (Status may = context.Spend(block.cost()); !may) return may.error();
  Result<Pinned> part = Reserve(block.streamed_size());
  if (!part) return part;
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
  if (block.verifies()) context.cache().CountVerdict(Verdict::kPassed);
  const MutexLock lock(mutex_);
  kept_.push_front({block.key(), *part});
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
    Result<Pinned> made = Produce(block, shared);
    if (!made) return std::move(made).error();
    found = std::move(*made);
    return {};
  };
  Status made = context.cache().Once(block.key(), context, look, produce,
                                     MemoryFor(context.cache()));
  if (!made) return std::move(made).error();
  return found;
}

}  // namespace ctxfs
