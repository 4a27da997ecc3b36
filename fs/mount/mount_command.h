// SPDX-License-Identifier: Apache-2.0
//
// The commands that mount and unmount. A build without FUSE (CTXFS_FUSE=OFF)
// has no_mount_command.cc in the place of mount_command.cc: it refuses to
// mount, with ExitCode::kFuse.
#pragma once

#include <span>
#include <string>

#include "fs/commands/command.h"

namespace ctxfs {

/// `ctxfs mount`, which mount.ctxfs runs, too.
extern const Command kMountCommand;

/// `ctxfs SOURCE MOUNTPOINT [-o OPTION]...`, without the word `mount`; and
/// `ctxfs --version`.
int RunMountByWord(int argc, char** argv);

/// What completing needs to know: `commands`, and what a mount may be told.
CompletionTables CompletionTablesOf(std::span<const Command* const> commands);

/// What `ctxfs version` and `ctxfs --version` print: "ctxfs 1.2.3".
std::string VersionLine();

/// `ctxfs umount`: umount_command.cc, in every build.
extern const Command kUmountCommand;

}  // namespace ctxfs
