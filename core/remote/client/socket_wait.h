// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "core/io/fd.h"

namespace ctxfs::remote {

/// A wait of one thread for a message. Other threads can end the wait.
class SocketWait {
 public:
  using Clock = std::chrono::steady_clock;

  SocketWait();

  /// Whether Tell works: false if there was no descriptor for it.
  bool ok() const { return told_.ok(); }

  /// Returns true if there is a message or the other end is closed. Returns
  /// false at `end` (at the latest after an hour), on a signal, or after a call
  /// of Tell since the last Await.
  bool Await(const Fd& socket, Clock::time_point end) const;
  void Tell() const;

 private:
  const Fd told_;  // an eventfd
};

}  // namespace ctxfs::remote
