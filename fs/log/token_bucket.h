// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace ctxfs {

/// Limits a rate: `burst` events at once, then `per_second` on average. Not
/// thread-safe.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  TokenBucket(double burst, double per_second, Clock::time_point now)
      : burst_(burst), per_second_(per_second), tokens_(burst), filled_(now) {}

  /// Whether an event may happen at `now`, which must not decrease.
  bool Take(Clock::time_point now) {
    const std::chrono::duration<double> passed = now - filled_;
    filled_ = now;
    tokens_ = std::min(burst_, tokens_ + passed.count() * per_second_);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  const double burst_;
  const double per_second_;
  double tokens_;
  Clock::time_point filled_;
};

}  // namespace ctxfs
