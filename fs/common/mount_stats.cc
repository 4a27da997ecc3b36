// SPDX-License-Identifier: Apache-2.0
#include "fs/common/mount_stats.h"

#include <fmt/core.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/whole_number.h"

namespace ctxfs {
namespace {

constexpr std::string_view kPid = "ctxfs_daemon_pid";
constexpr std::string_view kLimit = "ctxfs_cache_limit_bytes";

std::string Gauge(std::string_view name, std::string_view help,
                  uint64_t value) {
  const std::string metric(name);
  return fmt::format("# HELP {} {}\n# TYPE {} gauge\n{} {}\n", metric, help,
                     metric, metric, value);
}

}  // namespace

MountStats ParseMountStats(const std::string& text) {
  MountStats stats;
  const std::pair<std::string_view, std::optional<uint64_t>*> fields[] = {
      {kPid, &stats.pid},
      {"ctxfs_cache_bytes", &stats.cache_bytes},
      {kLimit, &stats.cache_limit}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    for (const auto& [name, field] : fields) {
      if (std::string_view(line).substr(0, space) != name) continue;
      const auto value =
          WholeNumber<uint64_t>(std::string_view(line).substr(space + 1));
      if (value) *field = *value;
    }
  }
  return stats;
}

std::string DaemonStats(int pid, uint64_t cache_limit) {
  return Gauge(kPid, "Process that serves the mount.",
               static_cast<uint64_t>(pid)) +
         Gauge(kLimit, "Decoded bytes that may be held (cache=).", cache_limit);
}

}  // namespace ctxfs
