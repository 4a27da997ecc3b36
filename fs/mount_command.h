// SPDX-License-Identifier: Apache-2.0
//
// The commands that mount and unmount.
#pragma once

#include <span>

#include "fs/commands/commands.h"

namespace ctxfs {

/// `ctxfs mount`, which mount.ctxfs runs, too.
extern const Command kMountCommand;

/// `ctxfs SOURCE MOUNTPOINT [-o OPTION]...`, without the word `mount`; and
/// `ctxfs --version`.
int RunMountByWord(int argc, char** argv);

/// What completing needs to know: `commands`, and what a mount may be told.
CompletionTables CompletionTablesOf(std::span<const Command* const> commands);

/// `ctxfs umount`: umount_command.cc.
extern const Command kUmountCommand;

}  // namespace ctxfs
