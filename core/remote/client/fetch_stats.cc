// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/fetch_stats.h"

namespace ctxfs::remote {

void FetchStats::Add(const FetchReply& reply) {
  requests += reply.requests;
  if (reply.requests > 0) retries += reply.requests - 1;
  received += reply.received;
  cached += reply.cached;
  skipped += reply.skipped;
  if (reply.requests == 0 && reply.cached > 0) ++hits;
  if (reply.refusal) {
    if (refusal == 0 && *reply.refusal != 0) ++pauses;
    refusal = *reply.refusal;
  }
  for (const uint64_t us : reply.took_us) {
    const uint64_t ns = 1000 * us;
    size_t bucket = 0;
    while (bucket < kTimes && ns > kFirstTimeNs << bucket) ++bucket;
    ++times[bucket];
    all_times_ns += ns;
  }
}

}  // namespace ctxfs::remote
