// SPDX-License-Identifier: Apache-2.0
#include "fs/stats.h"

#include <cinttypes>
#include <cstdio>

namespace ctxfs {
namespace {

constexpr uint64_t kFirstBucketNs = 10'000;

class Writer {
 public:
  void Metric(const char* name, const char* type, const char* help,
              uint64_t value) {
    Head(name, type, help);
    Line(name, "", static_cast<double>(value));
  }
  void Head(const char* name, const char* type, const char* help) {
    text += std::string("# HELP ctxfs_") + name + " " + help +
            "\n# TYPE ctxfs_" + name + " " + type + "\n";
  }
  void Line(const std::string& name, const std::string& labels, double value) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.15g", value);
    text += "ctxfs_" + name + labels + " " + number + "\n";
  }

  std::string text;
};

}  // namespace

void Stats::CountReply(uint64_t bytes, std::chrono::nanoseconds took) {
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const auto ns = static_cast<uint64_t>(took.count());
  nanoseconds_.fetch_add(ns, std::memory_order_relaxed);
  size_t bucket = 0;
  for (uint64_t bound = kFirstBucketNs; bucket < kBuckets && ns > bound;
       bound *= 4) {
    ++bucket;
  }
  latency_[bucket].fetch_add(1, std::memory_order_relaxed);
}

std::string Stats::Text(const BlockCache::Stats& cache,
                        const RequestPool::Stats& pool, uint64_t containers,
                        uint64_t bytes) const {
  constexpr const char* kCounter = "counter";
  constexpr const char* kGauge = "gauge";
  Writer out;
  out.Metric("reads_total", kCounter, "READ requests.",
             requests_.load(std::memory_order_relaxed));
  out.Metric("read_errors_total", kCounter, "READ requests that failed.",
             errors_.load(std::memory_order_relaxed));
  out.Metric("read_bytes_total", kCounter, "Bytes served.",
             bytes_.load(std::memory_order_relaxed));
  out.Metric("container_bytes_total", kCounter, "Bytes read from containers.",
             bytes);
  out.Metric("decoded_bytes_total", kCounter, "Bytes decoded.", cache.produced);
  out.Metric("verified_passed_total", kCounter, "Checksums that matched.",
             cache.passed);
  out.Metric("verified_failed_total", kCounter, "Checksums that did not.",
             cache.failed);
  out.Metric("cache_bytes", kGauge, "Decoded bytes held.", cache.bytes);
  out.Metric("cache_blocks", kGauge, "Decoded blocks held.", cache.blocks);
  out.Metric("cache_dir_bytes", kGauge, "Decoded bytes in temporary files.",
             cache.spilled);
  out.Metric("cache_hits_total", kCounter, "Reads answered from held blocks.",
             cache.hits);
  out.Metric("cache_evictions_total", kCounter, "Blocks let go.",
             cache.evictions);
  out.Metric("requests_running", kGauge,
             "Requests that take long and are being worked on.", pool.running);
  out.Metric("requests_queued", kGauge,
             "Requests that take long and wait for a thread.", pool.queued);
  out.Metric("requests_given_up_total", kCounter,
             "Requests whose callers gave up.", pool.refused);
  out.Metric("open_containers", kGauge, "Containers open.", containers);

  out.Head("read_seconds", "histogram", "Time from READ request to reply.");
  uint64_t count = 0;
  double bound = static_cast<double>(kFirstBucketNs) * 1e-9;
  for (size_t i = 0; i < kBuckets; ++i, bound *= 4) {
    count += latency_[i].load(std::memory_order_relaxed);
    char le[32];
    std::snprintf(le, sizeof(le), "{le=\"%g\"}", bound);
    out.Line("read_seconds_bucket", le, static_cast<double>(count));
  }
  count += latency_[kBuckets].load(std::memory_order_relaxed);
  out.Line("read_seconds_bucket", "{le=\"+Inf\"}", static_cast<double>(count));
  out.Line(
      "read_seconds_sum", "",
      static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9);
  out.Line("read_seconds_count", "", static_cast<double>(count));
  return std::move(out.text);
}

}  // namespace ctxfs
