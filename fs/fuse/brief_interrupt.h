// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/base/interrupt.h"
#include "core/base/limits.h"

namespace ctxfs {

/// What a thread has done so far.
struct ThreadUsage {
  std::chrono::nanoseconds processor{0};  // that the thread has used
  int64_t waits = 0;  // how often it has left its processor by itself

  /// The usage of the calling thread. Takes two system calls.
  static ThreadUsage Now();
};

/// Gives up work that takes longer than handing it to another thread. Time in
/// which a busy machine lets others run does not count: a small request would
/// be handed over for it, and queue behind the long ones. Made by the thread
/// that does the work, others may take part.
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
  /// Whether the work is known to be long, not only late.
  bool is_large() const { return is_large_; }

 private:
  static constexpr uint64_t kSmallWork = 256 * limits::kKiB;
  static constexpr std::chrono::milliseconds kMax{2};

  bool IsLong() const;

  Clock::time_point (*const clock_)();
  ThreadUsage (*const usage_)();
  const Clock::time_point start_;
  const std::thread::id owner_ = std::this_thread::get_id();
  // The owner's usage when the time was first up: most requests end earlier and
  // cost no call.
  mutable bool is_late_ = false;
  mutable ThreadUsage late_;
  mutable std::atomic<bool> gave_up_ = false;
  mutable std::atomic<bool> is_large_ = false;
};

}  // namespace ctxfs
