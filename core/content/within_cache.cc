// SPDX-License-Identifier: Apache-2.0
#include "core/content/within_cache.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/heap/heap_meter.h"
#include "core/base/limits.h"
#include "core/content/verdict.h"

namespace ctxfs {

Status WithinCache(const ReadContext& context,
                   const std::function<Status(const ReadContext&)>& work) {
  // Suffices for a usual document, however small the cache is.
  constexpr uint64_t kLeast = 64 * limits::kMiB;
  static const uint64_t owner = NewOwner();
  static std::atomic<uint64_t> number = 0;
  const UnmeteredHeap cached;
  {
    const HeapAllowance little(limits::kSmallWorkBytes,
                               {Code::kInterrupted, "cache="});
    const AllowedWork bounded(context.interrupt());
    Status done = work(context.With(bounded));
    if (!little.exceeded()) return done;
  }
  BlockCache& cache = context.cache();
  const auto alone = [&](const ReadContext& shared) -> Status {
    FreeSpareMemory();
    const HeapAllowance all(std::max(cache.budget(), kLeast),
                            {Code::kLimit, "cache="});
    const AllowedWork in_turn(shared.interrupt());
    Status done = work(shared.With(in_turn));
    ::malloc_trim(0);
    // If memory was refused (`all`), `work` may have reported a fault of its
    // input instead; Check returns the real error.
    CTXFS_TRY(HeapAllowance::Check());
    return done;
  };
  // This key is unique, so Once waits for memory only.
  return cache.Once(
      {owner, number++}, context, [] { return false; }, alone,
      std::max(cache.budget(), kLeast));
}

}  // namespace ctxfs
