// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/base/mutex.h"

namespace ctxfs {

/// Shows percentage, rate and remaining time of a command on standard error if
/// it is a terminal. The destructor erases the line. Thread-safe.
class Progress {
 public:
  Progress();
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool shown() const { return shown_; }

  /// Expect adds to the bytes that are to be read, Add to those that were read.
  void Expect(uint64_t bytes) { total_ += bytes; }
  void Add(uint64_t bytes);

  /// Erases the line, before other output.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  void Draw(Clock::time_point now) CTXFS_REQUIRES(mutex_);

  const bool shown_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<uint64_t> total_ = 0;
  std::atomic<uint64_t> done_ = 0;
  Mutex mutex_;
  Clock::time_point drawn_ CTXFS_GUARDED_BY(mutex_);
  bool dirty_ CTXFS_GUARDED_BY(mutex_) = false;
};

}  // namespace ctxfs
