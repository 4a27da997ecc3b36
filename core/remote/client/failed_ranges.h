// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/base/result.h"

namespace ctxfs::remote {

/// Granules that were waited for in vain, known until a moment after that wait
/// failed and was to end. When the kernel's read-ahead fails, the kernel asks
/// again for the page that a reader needs: this request has what the first one
/// left of its time. A later request for the page comes from a program that
/// reads again, and waits for the server. Not safe for several threads.
class FailedRanges {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kMoment{250};

  struct Range {
    uint64_t object;
    uint64_t first;
    uint64_t count;
    Clock::time_point end;  // of the wait, unless it failed before
    Error error;
  };

  void Add(Range range, Clock::time_point now = Clock::now());
  /// Returns the range with a granule; null if it is not known to have failed.
  /// Valid until the next call.
  const Range* Find(uint64_t object, uint64_t granule,
                    Clock::time_point now = Clock::now()) const;
  /// Returns a failed range with the granule if the request that began at
  /// `began` came after the failure; nullopt if there is none. Forgets all
  /// failed ranges with the granule that it could have returned.
  std::optional<Range> Take(uint64_t object, uint64_t granule,
                            Clock::time_point began,
                            Clock::time_point now = Clock::now());

 private:
  static constexpr size_t kMax = 256;

  struct Known {
    bool Has(uint64_t object, uint64_t granule) const {
      return range.object == object && granule >= range.first &&
             granule - range.first < range.count;
    }

    Range range;
    Clock::time_point until;
  };

  std::deque<Known> ranges_;  // some of them are known no more
};

}  // namespace ctxfs::remote
