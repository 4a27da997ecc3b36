// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs {

/// Counts the long-lived descriptors of the files that the process serves, and
/// bounds them below its limit (RLIMIT_NOFILE), so that a descriptor is left
/// for a request that looks a name up or lists a directory.
class Descriptors {
 public:
  /// Raises the soft limit of the process to the hard limit, and derives the
  /// bound from it for `threads` serving threads. Without this call there is no
  /// bound. Returns the limit in force; 0, and sets no bound, if it is unknown.
  static uint64_t RaiseLimit(unsigned threads);

  /// Sets the bound: for tests.
  static void SetMost(uint64_t most);

  /// Returns whether `more` descriptors stay within the bound.
  static bool HaveRoom(uint64_t more);

  /// Returns the current count.
  static uint64_t held();

  /// Counts one descriptor during its lifetime.
  class Use {
   public:
    Use();
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };
};

}  // namespace ctxfs
