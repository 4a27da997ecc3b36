// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ctxfs {

/// The commands that need no FUSE (docs/commands.md). `argv[0]` is the
/// command's name. What they return is the process's exit code: those of
/// ExitCode but for RunCheck, which returns 0 for clean, 1 for faults found,
/// and 2 for what could not be checked.
int RunLs(int argc, char** argv);
int RunCat(int argc, char** argv);
int RunInfo(int argc, char** argv);
int RunCheck(int argc, char** argv);
int RunExtract(int argc, char** argv);

}  // namespace ctxfs
