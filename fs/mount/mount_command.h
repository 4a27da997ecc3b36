// SPDX-License-Identifier: Apache-2.0
//
// The commands that mount and unmount. A build without FUSE (CTXFS_FUSE=OFF)
// replaces mount_command.cc by no_mount_command.cc, which refuses to mount with
// ExitCode::kFuse.
#pragma once

#include <span>
#include <string>

#include "fs/commands/command.h"

namespace ctxfs {

/// `ctxfs mount`, also run as mount.ctxfs.
extern const Command kMountCommand;

/// `ctxfs SOURCE MOUNTPOINT [-o OPTION]...`, without the word `mount`; and
/// `ctxfs --version`.
int RunMountByWord(int argc, char** argv);

/// The commands, options and values that shells complete.
CompletionTables CompletionTablesOf(std::span<const Command* const> commands);

/// Returns "ctxfs 1.2.3", for example, which `ctxfs version` and `ctxfs
/// --version` print.
std::string VersionLine();

/// `ctxfs umount` (umount_command.cc), in builds without FUSE, too.
extern const Command kUmountCommand;

}  // namespace ctxfs
