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

/// A request in progress: served from the cache, or by successive transfers.
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
  Clock::time_point next;  // of the next attempt
  unsigned attempts = 0;
  std::unique_ptr<Transfer> transfer;  // null: none is running
  Clock::time_point started;           // of the transfer

  /// The cache key of the object or page with this identity.
  std::string CacheKey(const Identity& identity) const;
  /// Microseconds since the start of the transfer.
  uint32_t Took() const;
  Error NotCached() const;
};

}  // namespace ctxfs::remote
