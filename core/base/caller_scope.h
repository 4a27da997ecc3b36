// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace ctxfs {

/// Names the thread of another process that this thread works for, until it is
/// destroyed: what one request found can help its next one.
class CallerScope {
 public:
  explicit CallerScope(uint64_t caller)
      : before_(std::exchange(current_, caller)) {}
  ~CallerScope() { current_ = before_; }
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

  /// 0 if it is not known.
  static uint64_t Current() { return current_; }

 private:
  static inline thread_local uint64_t current_ = 0;
  const uint64_t before_;
};

}  // namespace ctxfs
