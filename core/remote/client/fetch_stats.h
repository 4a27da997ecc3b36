// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Counters of the fetcher's work for a client.
struct FetchStats {
  // Upper bounds of the times: 1 ms times powers of two, and none.
  static constexpr uint64_t kFirstTimeNs = 1'000'000;
  static constexpr size_t kTimes = 17;

  uint64_t requests = 0;  // over HTTP
  uint64_t retries = 0;   // of these, the repeated ones
  uint64_t received = 0;  // bytes over HTTP
  uint64_t cached = 0;    // bytes from the disk
  uint64_t hits = 0;      // requests to the fetcher that the disk answered
  uint64_t restarts = 0;  // of the fetcher
  uint64_t pauses = 0;    // times that the cache's disk began to refuse writes
  uint32_t refusal = 0;   // errno with which it does; 0: it takes them
  /// How many HTTP requests took how long, and all together.
  std::array<uint64_t, kTimes + 1> times = {};
  uint64_t all_times_ns = 0;

  void Add(const FetchReply& reply);
};

}  // namespace ctxfs::remote
