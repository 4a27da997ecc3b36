// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/failed_ranges.h"

#include <algorithm>
#include <utility>

namespace ctxfs::remote {

void FailedRanges::Add(Range range, Clock::time_point now) {
  std::erase_if(ranges_, [now](const Known& one) { return one.until < now; });
  if (ranges_.size() >= kMax) ranges_.pop_front();
  ranges_.push_back({std::move(range), now + kMoment});
}

const FailedRanges::Range* FailedRanges::Find(uint64_t object, uint64_t granule,
                                              Clock::time_point now) const {
  const auto found = std::ranges::find_if(ranges_, [&](const Known& one) {
    return one.until >= now && one.Has(object, granule);
  });
  return found == ranges_.end() ? nullptr : &found->range;
}

std::optional<FailedRanges::Range> FailedRanges::Take(uint64_t object,
                                                      uint64_t granule,
                                                      Clock::time_point began,
                                                      Clock::time_point now) {
  const auto repeated = [&](const Known& one) {
    return one.until - kMoment <= began && one.until >= now &&
           one.Has(object, granule);
  };
  const auto found = std::ranges::find_if(ranges_, repeated);
  if (found == ranges_.end()) return std::nullopt;
  Range taken = found->range;
  std::erase_if(ranges_, repeated);
  return taken;
}

}  // namespace ctxfs::remote
