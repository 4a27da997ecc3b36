// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs umount`. Needs no libfuse, so builds without FUSE have it, too.
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "core/base/text/text.h"
#include "fs/commands/arguments.h"
#include "fs/common/mount_table.h"
#include "fs/mount/mount_command.h"
#include "fs/mount/mount_point.h"
#include "fs/mount/refusal.h"

namespace ctxfs {
namespace {

// How long to retry a mount that is in use. Programs that examine every mount,
// such as `ctxfs mounts` and shell completion, hold a file of it open for a
// moment.
constexpr std::chrono::milliseconds kPatience{1000};
// Pause between two attempts.
constexpr std::chrono::milliseconds kPause{10};

/// Returns why `path` must not be unmounted; empty if its topmost mount is one
/// of ctxfs.
std::string WhyNotOurs(const std::string& path) {
  const std::string point = AsMountPoint(path);
  std::string type;
  for (const MountEntry& mount : MountTable()) {
    if (mount.point == point) type = mount.type;
  }
  if (type == kMountType) return "";
  if (type.empty()) return WhyNotUnmounted(path, EINVAL);
  return Quote(path) + ": a mount of type " + Quote(type) +
         ", not one of ctxfs; unmount it with umount(8)";
}

/// Unmounts `path`; retries for up to kPatience while it is in use. Returns 0
/// or a positive errno.
int UnmountPatiently(const std::string& path) {
  int failed = Unmount(path, /*lazy=*/false);
  for (auto waited = kPause; failed == EBUSY && waited <= kPatience;
       waited += kPause) {
    std::this_thread::sleep_for(kPause);
    failed = Unmount(path, /*lazy=*/false);
  }
  return failed;
}

int RunUmount(const Arguments& arguments) {
  const std::string& path = arguments.operands.front();
  std::string why = WhyNotOurs(path);
  if (why.empty()) {
    const int failed = UnmountPatiently(path);
    if (failed == 0) return 0;
    why = WhyNotUnmounted(path, failed);
  }
  return static_cast<int>(EndWith(ExitCode::kMountPoint, why));
}

}  // namespace

const Command kUmountCommand{.name = "umount",
                             .operands = "MOUNTPOINT",
                             .summary = "Unmounts a mount of ctxfs",
                             .alias = "unmount",
                             .run = &RunUmount,
                             .examples = "  ctxfs umount /mnt/model\n",
                             .kind = OperandKind::kMount,
                             .min_operands = 1,
                             .max_operands = 1,
                             .exit_codes =
                                 "  0 unmounted, 1 usage, 6 not a mount of "
                                 "ctxfs, or it is in use\n"};

}  // namespace ctxfs
