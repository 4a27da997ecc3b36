// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/base/limits.h"
#include "core/base/text/whole_number.h"

namespace ctxfs {
namespace {

/// Returns the number in a file; UINT64_MAX if the file has another word, such
/// as "max", or cannot be read.
uint64_t NumberIn(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return WholeNumber<uint64_t>(word).value_or(UINT64_MAX);
}

/// The minimum of the limits in `file` of a control group and its ancestors. A
/// container may see its own group as the top of the hierarchy; then only the
/// file at the top exists.
uint64_t GroupLimit(const std::string& hierarchy, std::string group,
                    const std::string& file) {
  uint64_t least = NumberIn(hierarchy + "/" + file);
  while (group.size() > 1) {
    least = std::min(least, NumberIn(hierarchy + group + "/" + file));
    group.resize(group.rfind('/'));
  }
  return least;
}

/// The minimum over all hierarchies with a memory controller (cgroups(7)). The
/// lines of /proc/self/cgroup are "4:memory:/group" and, for version 2,
/// "0::/group".
uint64_t GroupsLimit(const std::string& root) {
  const std::string groups = root + "/sys/fs/cgroup";
  uint64_t least = UINT64_MAX;
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find(':');
    const size_t group = line.find(":/", name == std::string::npos ? 0 : name);
    if (group == std::string::npos) continue;
    const std::string path = line.substr(group + 1);
    if (line.starts_with("0::")) {
      least = std::min(least, GroupLimit(groups, path, "memory.max"));
    } else if (line.substr(name, group - name) == ":memory") {
      least = std::min(
          least, GroupLimit(groups + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

uint64_t AddressSpace() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

uint64_t MemoryLimit(const std::string& root) {
  const auto machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min({machine, GroupsLimit(root), AddressSpace()});
}

uint64_t DefaultCacheBytes(uint64_t memory) {
  constexpr uint64_t kPart = 8;
  return std::clamp(memory / kPart, 64 * limits::kMiB, 2 * limits::kGiB);
}

}  // namespace ctxfs
