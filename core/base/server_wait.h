// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs {

/// The time that one request waits for servers. All fetches of the request
/// share one timeout. Each 4 MiB that the request receives extends the time by
/// the same timeout, so that a slow line can transfer a large entry. Lives on
/// the stack of the serving thread; the fetcher's client changes it under the
/// client's mutex.
class ServerWait {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ServerWait(Clock::time_point began = Clock::now()) : began_(began) {}
  ServerWait(const ServerWait&) = delete;
  ServerWait& operator=(const ServerWait&) = delete;

  Clock::time_point began() const { return began_; }

  /// Counts bytes received for the request.
  void NoteArrival(uint64_t bytes) { came_ += bytes; }

  /// Ends the waits at `end` at the latest: for a request that is a retry.
  void EndBy(Clock::time_point end) { latest_ = std::min(latest_, end); }

  /// Returns the deadline of the request; `timeout` is the timeout of one
  /// fetch.
  Clock::time_point End(std::chrono::milliseconds timeout) const {
    const auto further = static_cast<int64_t>(came_ / kBytesPerTimeout);
    return std::min(latest_, began_ + (1 + further) * timeout);
  }

 private:
  static constexpr uint64_t kBytesPerTimeout = 4 * limits::kMiB;

  const Clock::time_point began_;
  Clock::time_point latest_ = Clock::time_point::max();
  uint64_t came_ = 0;
};

}  // namespace ctxfs
