// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "core/base/interrupt.h"

namespace ctxfs {

/// Interrupts work when the user presses Ctrl-C or another key. Reset must be
/// called only while no work runs.
class UserInterrupt final : public Interrupt {
 public:
  /// Sets a flag at SIGINT, instead of ending the process.
  static void WatchSignals();
  /// Whether SIGINT came after the last Reset.
  static bool signalled() { return signalled_; }

  bool interrupted() const override { return stopped_ || signalled_; }
  // A signal handler cannot notify listeners, so they must ask again.
  Clock::time_point AskAgainAt() const override {
    return Clock::now() + std::chrono::milliseconds(20);
  }
  void Stop() { stopped_ = true; }
  void Reset() {
    stopped_ = false;
    signalled_ = false;
  }

 private:
  static inline std::atomic<bool> signalled_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace ctxfs
