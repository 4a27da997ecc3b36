// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace ctxfs {

/// The filesystem type of a ctxfs mount.
constexpr const char* kMountType = "fuse.ctxfs";

/// A line of /proc/self/mountinfo (proc(5)), with the escapes undone.
struct MountEntry {
  std::string point;
  std::string type;
  std::string source;
};

/// The mounts that this process sees, the topmost at a mount point last.
std::vector<MountEntry> MountTable();

/// The mounts in the text of /proc/self/mountinfo. Leaves out malformed lines.
std::vector<MountEntry> ParseMountTable(std::istream& lines);

/// The mounts of ctxfs that this process sees.
std::vector<MountEntry> OwnMounts();

/// `path` as that table has it. The mount point itself is not looked at,
/// because its daemon may be dead.
std::string AsMountPoint(const std::string& path);

}  // namespace ctxfs
