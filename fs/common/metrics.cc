// SPDX-License-Identifier: Apache-2.0
#include "fs/common/metrics.h"

#include <fmt/core.h>

namespace ctxfs {

void Metrics::Add(const std::string& name, const char* help, uint64_t value) {
  Head(name, name.ends_with("_total") ? "counter" : "gauge", help);
  Line(name, "", static_cast<double>(value));
}

void Metrics::AddTimes(const std::string& name, const char* help,
                       std::span<const uint64_t> counts, uint64_t first_ns,
                       unsigned factor, uint64_t all_ns) {
  constexpr double kSecond = 1e9;
  Head(name, "histogram", help);
  double count = 0;
  double bound = static_cast<double>(first_ns) / kSecond;
  for (size_t i = 0; i < counts.size(); ++i, bound *= factor) {
    count += static_cast<double>(counts[i]);
    const std::string le =
        i + 1 < counts.size() ? fmt::format("{:g}", bound) : "+Inf";
    Line(name + "_bucket", "{le=\"" + le + "\"}", count);
  }
  Line(name + "_sum", "", static_cast<double>(all_ns) / kSecond);
  Line(name + "_count", "", count);
}

void Metrics::Head(const std::string& name, const char* type,
                   const char* help) {
  text_ += fmt::format("# HELP ctxfs_{0} {1}\n# TYPE ctxfs_{0} {2}\n", name,
                       help, type);
}

void Metrics::Line(const std::string& name, const std::string& labels,
                   double value) {
  text_ += fmt::format("ctxfs_{}{} {:.15g}\n", name, labels, value);
}

}  // namespace ctxfs
