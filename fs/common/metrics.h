// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace ctxfs {

/// Writes counters in Prometheus text format, prefixing names with "ctxfs_".
class Metrics {
 public:
  /// Adds a counter if the name ends in "_total", else a gauge.
  void Add(const std::string& name, const char* help, uint64_t value);

  /// Adds a histogram of times, with one count per bucket. The first upper
  /// bound is `first_ns`, each further one is `factor` times the previous; the
  /// last bucket has none.
  void AddTimes(const std::string& name, const char* help,
                std::span<const uint64_t> counts, uint64_t first_ns,
                unsigned factor, uint64_t all_ns);

  std::string TakeText() { return std::move(text_); }

 private:
  void Head(const std::string& name, const char* type, const char* help);
  void Line(const std::string& name, const std::string& labels, double value);

  std::string text_;
};

}  // namespace ctxfs
