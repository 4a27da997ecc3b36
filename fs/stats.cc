// SPDX-License-Identifier: Apache-2.0
#include "fs/stats.h"

#include <cstdio>

namespace ctxfs {
namespace {

constexpr uint64_t kFirstBucketNs = 10'000;

class Writer {
 public:
  /// A counter if its name ends in "_total", else a gauge.
  void Metric(const std::string& name, const char* help, uint64_t value) {
    Head(name, name.ends_with("_total") ? "counter" : "gauge", help);
    Line(name, "", static_cast<double>(value));
  }
  void Head(const std::string& name, const std::string& type,
            const char* help) {
    text += "# HELP ctxfs_" + name + " " + help + "\n# TYPE ctxfs_" + name +
            " " + type + "\n";
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
  Writer out;
  out.Metric("reads_total", "READ requests.", requests_);
  out.Metric("read_errors_total", "READ requests that failed.", errors_);
  out.Metric("read_bytes_total", "Bytes served.", bytes_);
  out.Metric("container_bytes_total", "Bytes read from containers.", bytes);
  out.Metric("decoded_bytes_total", "Bytes decoded.", cache.produced);
  out.Metric("verified_passed_total", "Checksums that matched.", cache.passed);
  out.Metric("verified_failed_total", "Checksums that did not.", cache.failed);
  out.Metric("cache_bytes", "Decoded bytes held.", cache.bytes);
  out.Metric("cache_blocks", "Decoded blocks held.", cache.blocks);
  out.Metric("cache_dir_bytes", "Decoded bytes in temporary files.",
             cache.spilled);
  out.Metric("cache_hits_total", "Reads answered from held blocks.",
             cache.hits);
  out.Metric("cache_evictions_total", "Blocks let go.", cache.evictions);
  out.Metric("requests_running",
             "Requests that take long and are being worked on.", pool.running);
  out.Metric("requests_queued",
             "Requests that take long and wait for a thread.", pool.queued);
  out.Metric("requests_given_up_total", "Requests whose callers gave up.",
             pool.refused);
  out.Metric("open_containers", "Containers open.", containers);

  out.Head("read_seconds", "histogram", "Time from READ request to reply.");
  uint64_t count = 0;
  double bound = static_cast<double>(kFirstBucketNs) * 1e-9;
  for (size_t i = 0; i < kBuckets; ++i, bound *= 4) {
    count += latency_[i];
    char le[32];
    std::snprintf(le, sizeof(le), "{le=\"%g\"}", bound);
    out.Line("read_seconds_bucket", le, static_cast<double>(count));
  }
  count += latency_[kBuckets];
  out.Line("read_seconds_bucket", "{le=\"+Inf\"}", static_cast<double>(count));
  out.Line("read_seconds_sum", "",
           static_cast<double>(nanoseconds_.load()) * 1e-9);
  out.Line("read_seconds_count", "", static_cast<double>(count));
  return std::move(out.text);
}

}  // namespace ctxfs
