// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs {

/// Counts the descriptors that the process keeps for the files it serves, and
/// bounds them below its limit (RLIMIT_NOFILE), so that a request that needs
/// one for a moment, to look a name up or to list a directory, gets it.
class Descriptors {
 public:
  /// Raises the soft limit of the process to the hard one and takes the bound
  /// from it, for `threads` that serve. Without it nothing is bounded. Returns
  /// the limit in force.
  static uint64_t RaiseLimit(unsigned threads);

  /// Sets the bound: for tests.
  static void SetMost(uint64_t most);

  /// Returns whether `more` may be kept without exceeding the bound.
  static bool HaveRoom(uint64_t more);

  /// Returns how many are kept now.
  static uint64_t held();

  /// Counts one, for as long as it lives.
  class Use {
   public:
    Use();
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };
};

}  // namespace ctxfs
