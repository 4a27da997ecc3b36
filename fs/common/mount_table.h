// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace ctxfs {

constexpr const char* kMountType = "fuse.ctxfs";

/// A line of /proc/self/mountinfo (proc(5)), unescaped.
struct MountEntry {
  std::string point;
  std::string type;
  std::string source;
};

/// The mounts visible to this process; at one mount point, the topmost is last.
std::vector<MountEntry> MountTable();

/// Parses /proc/self/mountinfo. Skips malformed lines.
std::vector<MountEntry> ParseMountTable(std::istream& lines);

/// The ctxfs mounts visible to this process.
std::vector<MountEntry> OwnMounts();

/// Returns `path` as the mount table spells it. Does not access the mount point
/// itself, because its daemon may be dead.
std::string AsMountPoint(const std::string& path);

}  // namespace ctxfs
