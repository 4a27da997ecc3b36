// SPDX-License-Identifier: Apache-2.0
//
// ctxfs umount. A build without FUSE has it, too: it needs no libfuse.
#include <string>

#include "fs/commands/arguments.h"
#include "fs/mount_command.h"
#include "fs/mount_point.h"
#include "fs/refusal.h"

namespace ctxfs {
namespace {

int RunUmount(const Arguments& arguments) {
  const std::string& path = arguments.operands.front();
  if (const int failed = Unmount(path, /*lazy=*/false); failed != 0) {
    return static_cast<int>(
        EndWith(ExitCode::kMountPoint, WhyNotUnmounted(path, failed)));
  }
  return 0;
}

}  // namespace

const Command kUmountCommand{.name = "umount",
                             .operands = "MOUNTPOINT",
                             .summary = "Unmounts, as umount(8) does",
                             .run = &RunUmount,
                             .examples = "  ctxfs umount /mnt/model\n",
                             .kind = OperandKind::kMount,
                             .min_operands = 1,
                             .max_operands = 1};

}  // namespace ctxfs
