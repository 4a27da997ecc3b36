// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/base/result.h"

namespace ctxfs::remote {

/// Stores granules whose fetch recently failed, each for kMoment after the
/// failure, with the planned end of the wait for it. When the kernel's
/// read-ahead fails, the kernel repeats the request for the page that a reader
/// needs. The repeated request gets only the remaining time of the first one. A
/// later request for the page comes from a program that reads again, so it
/// waits for the server. Not thread-safe.
class FailedRanges {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kMoment{250};

  struct Range {
    uint64_t object;
    uint64_t first;
    uint64_t count;
    Clock::time_point end;  // planned end of the wait
    Error error;
  };

  void Add(Range range, Clock::time_point now = Clock::now());
  /// Returns the failed range with a granule; null if none is remembered. Valid
  /// until the next call.
  const Range* Find(uint64_t object, uint64_t granule,
                    Clock::time_point now = Clock::now()) const;
  /// For a request that began at `began`: returns a range with the granule that
  /// failed before `began`, or nullopt if there is none. Removes all such
  /// ranges.
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

  std::deque<Known> ranges_;  // some of them are expired
};

}  // namespace ctxfs::remote
