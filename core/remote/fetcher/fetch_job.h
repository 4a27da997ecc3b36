// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/cache/block_file.h"
#include "core/remote/client/messages.h"
#include "core/remote/fetcher/transfer.h"

namespace ctxfs::remote {

/// A request on its way: from the cache, or by one transfer after another.
struct FetchJob {
  using Clock = std::chrono::steady_clock;

  FetchRequest request;
  std::shared_ptr<const Settings> settings;
  Location location;
  Asked asked;
  std::vector<MutableBytes> out;  // for the bytes of `asked`
  FetchReply reply;
  std::vector<BlockFile> files;  // to be passed with the reply
  Clock::time_point deadline;
  Clock::time_point next;  // time of the next attempt
  unsigned attempts = 0;
  std::unique_ptr<Transfer> transfer;  // null: none is under way
  Clock::time_point started;           // of the transfer

  /// Names the object with this identity, or page, for the cache.
  std::string CacheKey(const Identity& identity) const;
  /// Microseconds since the transfer was started.
  uint32_t Took() const;
  /// The error for a cache miss while offline.
  Error NotCached() const;
};

}  // namespace ctxfs::remote
