// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <chrono>

namespace ctxfs {

/// Pauses writing after a disk refused it: each attempt on a full disk costs as
/// much as a write, and fails again. Not thread-safe.
class WritePause {
 public:
  using Clock = std::chrono::steady_clock;

  /// The time from a refusal to the next attempt.
  static constexpr std::chrono::seconds kLasts{10};

  /// Whether an errno means that the disk refuses all writes: it is full, over
  /// a quota, read-only, failing, or not writable for this user.
  static bool IsRefusal(int error) {
    return IsFull(error) || error == EROFS || error == EACCES ||
           error == EPERM || error == EIO;
  }
  static bool IsFull(int error) { return error == ENOSPC || error == EDQUOT; }

  bool MayWrite(Clock::time_point now = Clock::now()) const {
    return error_ == 0 || now >= until_;
  }
  /// Records the result of an attempt: 0, or an errno.
  void Note(int error, Clock::time_point now = Clock::now()) {
    if (error == 0) error_ = 0;
    if (!IsRefusal(error)) return;
    error_ = error;
    until_ = now + kLasts;
  }
  /// Ends the pause, because space was freed.
  void Shorten() { until_ = {}; }

  /// The errno of the last refusal; 0 if there was none, or if a write has
  /// succeeded since.
  int error() const { return error_; }

 private:
  int error_ = 0;
  Clock::time_point until_;
};

}  // namespace ctxfs
