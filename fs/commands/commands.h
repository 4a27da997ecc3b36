// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ctxfs {

/// The commands that need no FUSE (docs/commands.md). `argv[0]` is the
/// command's name. They return the process's exit code: an ExitCode, or
/// RunCheck: 0 clean, 1 damaged, 2 something could not be checked;
/// RunFsck: the codes of fsck(8).
int RunLs(int argc, char** argv);
int RunCat(int argc, char** argv);
int RunInfo(int argc, char** argv);
int RunCheck(int argc, char** argv);
int RunFsck(int argc, char** argv);
int RunExtract(int argc, char** argv);

}  // namespace ctxfs
