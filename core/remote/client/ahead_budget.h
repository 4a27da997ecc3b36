// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/base/limits.h"

namespace ctxfs::remote {

/// Decides how much is prefetched. Estimates how many bytes are on their way
/// from the servers in a round trip, from the replies to requests, and divides
/// the memory for prefetching by the readers that need it at the moment. Not
/// thread-safe.
class AheadBudget {
 public:
  using Clock = std::chrono::steady_clock;

  /// Maximum bytes that are prefetched and not read yet, of all readers.
  static constexpr uint64_t kMaxWhole = 48 * limits::kMiB;

  /// Bytes to prefetch for one reader.
  struct Window {
    uint64_t first;  // when it begins to read sequentially
    uint64_t most;   // after it has read a lot
  };

  /// Notes a reply with `bytes` bytes of a server, whose first byte came
  /// `first_us` microseconds after the request; 0: unknown.
  void NoteReply(uint64_t first_us, uint64_t bytes,
                 Clock::time_point now = Clock::now());

  /// Notes that a reader prefetches, and returns its part. A new reader, for
  /// which `*reader` is 0, gets a number.
  Window Share(uint64_t* reader, Clock::time_point now = Clock::now());

  /// Whether a reader has prefetched of late.
  bool IsActive(uint64_t reader, Clock::time_point now = Clock::now()) const;

 private:
  /// A reader that has not prefetched for so long is not counted.
  static constexpr std::chrono::seconds kActive{1};
  static constexpr size_t kMaxReaders = 1024;

  /// Bytes that arrive in the time between a request and its first byte.
  uint64_t BytesOnTheWay() const;

  struct Reader {
    uint64_t number;
    Clock::time_point seen;
  };

  uint64_t numbers_ = 0;
  std::vector<Reader> readers_;
  // The least time to a first byte of the replies so far and of the kReplies
  // before them: a minimum, because waiting for other replies adds to it.
  static constexpr unsigned kReplies = 32;
  uint64_t least_us_ = UINT64_MAX;
  uint64_t least_before_us_ = UINT64_MAX;
  unsigned replies_ = 0;
  // Of the last reply; bytes since `since_`; the highest rate of late.
  Clock::time_point last_ = {};
  Clock::time_point since_ = {};
  uint64_t bytes_ = 0;
  uint64_t bytes_per_second_ = 0;
};

}  // namespace ctxfs::remote
