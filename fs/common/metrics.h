// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace ctxfs {

/// Writes counters in the text format of Prometheus. Names get the prefix
/// "ctxfs_".
class Metrics {
 public:
  /// A counter if its name ends in "_total", else a gauge.
  void Add(const std::string& name, const char* help, uint64_t value);

  /// A histogram of times. `counts` has a number for each bucket; the upper
  /// bounds are `first_ns` and each time `factor` times the one before, and the
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
