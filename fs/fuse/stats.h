// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "core/content/block_cache.h"
#include "core/content/window.h"
#include "core/vfs/materialized/materialized_files.h"
#include "fs/fuse/request_pool.h"

namespace ctxfs {

/// Counters of a mount, for `.ctxfs/stats`. Thread-safe.
class Stats {
 public:
  /// Counts a READ request. Must run before the reply, so that a reader that
  /// has the reply finds it counted.
  void CountRequest() { requests_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts the answer. Must also run before the answer is sent.
  void CountReply(const Window& answer, std::chrono::nanoseconds took);
  /// Records how long a request of any kind took. Must run before its answer is
  /// sent. Abandoned requests are not recorded.
  void NoteWait(std::chrono::nanoseconds took);
  void CountError() { errors_.fetch_add(1, std::memory_order_relaxed); }
  void CountOpen() { opens_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts a handle that was closed without a READ request and that the kernel
  /// did not read itself.
  void CountUnread() { unread_.fetch_add(1, std::memory_order_relaxed); }

  /// Values that other objects count.
  struct Others {
    BlockCache::Stats cache = {};
    RequestPool::Stats pool = {};
    uint64_t containers = 0;  // open now
    uint64_t bytes = 0;       // read from containers
    MaterializedFiles::Stats made = {};
    bool passthrough = false;        // whether passthrough is enabled
    uint64_t passthrough_opens = 0;  // files opened for passthrough
  };

  /// Returns the counters in Prometheus text format.
  std::string Text(const Others& others) const;

 private:
  uint64_t From(Origin origin) const {
    return bytes_[static_cast<size_t>(origin)];
  }

  // Number of latency buckets with an upper bound: 10 us times a power of four.
  // One more bucket has no bound.
  static constexpr size_t kBuckets = 10;

  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> errors_ = 0;
  std::array<std::atomic<uint64_t>, kOrigins> bytes_ = {};
  std::atomic<uint64_t> nanoseconds_ = 0;
  std::atomic<uint64_t> longest_ns_ = 0;  // of all requests
  std::atomic<uint64_t> opens_ = 0;
  std::atomic<uint64_t> unread_ = 0;
  std::array<std::atomic<uint64_t>, kBuckets + 1> latency_ = {};
};

}  // namespace ctxfs
