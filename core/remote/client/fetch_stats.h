// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Counters of the fetcher's work for a client.
struct FetchStats {
  // Upper bounds of the buckets: 1 ms times powers of two, and infinity.
  static constexpr uint64_t kFirstTimeNs = 1'000'000;
  static constexpr size_t kTimes = 17;

  uint64_t requests = 0;  // over HTTP
  uint64_t retries = 0;   // requests that were retries
  uint64_t received = 0;  // bytes over HTTP
  uint64_t cached = 0;    // bytes from the disk
  uint64_t hits = 0;      // requests to the fetcher served from the disk
  uint64_t skipped = 0;   // bytes that were not cached, as the disk is slow
  uint64_t backlog = 0;   // bytes that are being cached
  uint64_t restarts = 0;  // of the fetcher
  uint64_t pauses = 0;    // times that the cache's disk began to refuse writes
  uint32_t refusal = 0;   // errno of its refusal; 0: it accepts writes
  /// Histogram of the durations of HTTP requests.
  std::array<uint64_t, kTimes + 1> times = {};
  uint64_t all_times_ns = 0;

  void Add(const FetchReply& reply);
};

}  // namespace ctxfs::remote
