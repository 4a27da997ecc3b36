// SPDX-License-Identifier: Apache-2.0
#include "fs/common/mount_stats.h"

#include <chrono>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/whole_number.h"
#include "fs/common/metrics.h"

namespace ctxfs {
namespace {

/// Reads up to 1 MiB of a file of a mount. Returns nothing after two seconds,
/// when the daemon hangs; the reading thread then ends with the process.
std::string ReadWithin(const std::string& path) {
  constexpr std::chrono::seconds kPatience(2);
  std::packaged_task<std::string()> read([path] {
    std::string text(limits::kMiB, '\0');
    std::ifstream file(path);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
    return text;
  });
  std::future<std::string> text = read.get_future();
  std::thread(std::move(read)).detach();
  const bool answered = text.wait_for(kPatience) == std::future_status::ready;
  return answered ? text.get() : "";
}

}  // namespace

MountStats MountStats::Parse(const std::string& text) {
  constexpr std::string_view kPrefix = "ctxfs_";
  MountStats stats;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (!line.starts_with(kPrefix) || space == std::string::npos) continue;
    const auto value =
        WholeNumber<uint64_t>(std::string_view(line).substr(space + 1));
    const std::string name =
        line.substr(kPrefix.size(), space - kPrefix.size());
    const bool labelled = name.find('{') != std::string::npos;
    if (value && !labelled) stats.samples_[name] = *value;
  }
  return stats;
}

MountStats MountStats::Of(const std::string& point) {
  return Parse(ReadWithin(point + "/.ctxfs/stats"));
}

std::optional<uint64_t> MountStats::Find(std::string_view name) const {
  const auto found = samples_.find(name);
  if (found == samples_.end()) return std::nullopt;
  return found->second;
}

std::string DaemonStats(int pid, uint64_t cache_limit) {
  Metrics out;
  out.Add("daemon_pid", "Process that serves the mount.",
          static_cast<uint64_t>(pid));
  out.Add("cache_limit_bytes", "Decoded bytes that may be held (cache=).",
          cache_limit);
  return out.TakeText();
}

}  // namespace ctxfs
