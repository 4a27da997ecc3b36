// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/base/interrupt.h"
#include "core/base/limits.h"

namespace ctxfs {

/// Processor time and voluntary context switches of a thread.
struct ThreadUsage {
  std::chrono::nanoseconds processor{0};  // used by the thread
  int64_t waits = 0;                      // voluntary context switches

  static ThreadUsage Now();
};

/// Interrupts work that is large or takes long, so that it moves to another
/// thread. Work takes long if after 2 ms it waits, uses 2 ms more of the
/// processor, or is shared with another thread. Time in which other processes
/// use the processor does not count: otherwise small requests would go to the
/// pool on a busy machine and queue behind long ones. The thread that works
/// must construct this; other threads may join the work.
class BriefInterrupt final : public Interrupt {
 public:
  using Clock = std::chrono::steady_clock;

  explicit BriefInterrupt(Clock::time_point (*clock)() = &Clock::now,
                          ThreadUsage (*usage)() = &ThreadUsage::Now)
      : clock_(clock), usage_(usage), start_(clock()) {}

  bool interrupted() const override {
    if (!gave_up_ && clock_() - start_ > kMax && IsLong()) gave_up_ = true;
    return gave_up_;
  }
  bool MayTake(uint64_t bytes) const override {
    if (bytes > kSmallWork) gave_up_ = is_large_ = true;
    return !interrupted();
  }

  bool gave_up() const { return gave_up_; }
  /// Whether the work is large by its bytes, not only late.
  bool is_large() const { return is_large_; }

 private:
  static constexpr uint64_t kSmallWork = 256 * limits::kKiB;
  static constexpr std::chrono::milliseconds kMax{2};

  bool IsLong() const;

  Clock::time_point (*const clock_)();
  ThreadUsage (*const usage_)();
  const Clock::time_point start_;
  const std::thread::id owner_ = std::this_thread::get_id();
  // What the constructing thread had used when interrupted() first found that
  // kMax had passed. Most requests end before that, so they need no call of
  // `usage_`.
  mutable bool is_late_ = false;
  mutable ThreadUsage late_;
  mutable std::atomic<bool> gave_up_ = false;
  mutable std::atomic<bool> is_large_ = false;
};

}  // namespace ctxfs
