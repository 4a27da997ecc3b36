// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/stats.h"

#include <algorithm>

#include "fs/common/metrics.h"

namespace ctxfs {
namespace {

constexpr uint64_t kFirstBucketNs = 10'000;
constexpr unsigned kFactor = 4;
constexpr uint64_t kMillisecondNs = 1'000'000;

}  // namespace

void Stats::CountReply(const Window& answer, std::chrono::nanoseconds took) {
  for (size_t origin = 0; origin < kOrigins; ++origin) {
    bytes_[origin].fetch_add(answer.bytes_from(static_cast<Origin>(origin)),
                             std::memory_order_relaxed);
  }
  const auto ns = static_cast<uint64_t>(took.count());
  nanoseconds_.fetch_add(ns, std::memory_order_relaxed);
  size_t bucket = 0;
  for (uint64_t bound = kFirstBucketNs; bucket < kBuckets && ns > bound;
       bound *= kFactor) {
    ++bucket;
  }
  latency_[bucket].fetch_add(1, std::memory_order_relaxed);
}

void Stats::NoteWait(std::chrono::nanoseconds took) {
  const auto ns = static_cast<uint64_t>(took.count());
  uint64_t longest = longest_ns_.load(std::memory_order_relaxed);
  while (ns > longest && !longest_ns_.compare_exchange_weak(
                             longest, ns, std::memory_order_relaxed)) {
  }
}

std::string Stats::Text(const Others& others) const {
  const BlockCache::Stats& cache = others.cache;
  const RequestPool::Stats& pool = others.pool;
  Metrics out;
  out.Add("reads_total", "READ requests.", requests_);
  out.Add("read_errors_total", "READ requests that failed.", errors_);
  const uint64_t memory = From(Origin::kMemory);
  const uint64_t disk = From(Origin::kDisk);
  const uint64_t container = From(Origin::kContainer);
  out.Add("read_bytes_total", "Bytes served.", memory + disk + container);
  out.Add("read_memory_bytes_total",
          "Bytes served that were decoded or made, now or before.", memory);
  out.Add("read_cache_dir_bytes_total", "Bytes served from temporary files.",
          disk);
  out.Add("read_container_bytes_total",
          "Bytes served as containers and plain files store them.", container);
  out.Add("container_bytes_total", "Bytes read from containers.", others.bytes);
  out.Add("decoded_bytes_total", "Bytes decoded.", cache.produced);
  out.Add("verified_passed_total", "Checksums that matched.", cache.passed);
  out.Add("verified_failed_total", "Checksums that did not.", cache.failed);
  out.Add("cache_bytes", "Decoded bytes held.", cache.bytes);
  out.Add("cache_blocks", "Decoded blocks held.", cache.blocks);
  out.Add("cache_dir_bytes", "Decoded bytes in temporary files.",
          cache.spilled);
  out.Add("cache_hits_total", "Reads answered from held blocks.", cache.hits);
  out.Add("cache_evictions_total", "Blocks let go.", cache.evictions);
  out.Add("requests_running",
          "Requests that take long and are being worked on.", pool.running);
  out.Add("requests_queued", "Requests that take long and wait for a thread.",
          pool.queued);
  out.Add("requests_given_up_total", "Requests whose callers gave up.",
          pool.refused);
  out.Add("request_longest_milliseconds",
          "Longest time from a request of any kind to its answer.",
          longest_ns_ / kMillisecondNs);
  out.Add("open_containers", "Containers open.", others.containers);
  out.Add("opens_total", "Opened files.", opens_);
  out.Add(
      "opens_without_reads_total",
      "Closed files that the kernel answered from its pages, or that nobody "
      "read.",
      unread_);
  const MaterializedFiles::Stats& made = others.made;
  out.Add("materialized_files", "Materialised files.", made.files);
  out.Add("materialized_bytes", "Bytes of the disk that they take.",
          made.bytes);
  out.Add("materialized_total", "Files that were materialised.", made.written);
  out.Add("materialized_taken_total",
          "Materialised files of other mounts that were taken up.", made.taken);
  out.Add("materialized_opens_total", "Opened files that were materialised.",
          made.opened);
  out.Add("passthrough", "Whether the kernel can read files by itself.",
          others.passthrough ? 1 : 0);
  out.Add("passthrough_opens_total",
          "Opened files that the kernel reads by itself.",
          others.passthrough_opens);

  std::array<uint64_t, kBuckets + 1> counts;
  std::ranges::copy(latency_, counts.begin());
  out.AddTimes("read_seconds", "Time from READ request to reply.", counts,
               kFirstBucketNs, kFactor, nanoseconds_);
  return out.TakeText();
}

}  // namespace ctxfs
