// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Refuses with EPERM, to the calling thread and every thread that it starts
/// from then on, all system calls that serving files does not need. Among those
/// are calls that execute, trace or mount, map memory that can be executed,
/// make sockets or processes, and signal other processes. Needs
/// PR_SET_NO_NEW_PRIVS. Cannot be undone.
///
/// With `watches`, the calls that watch directories are allowed; the inotify
/// descriptor must exist. The descriptor `spill_file`, if any, may be written.
/// Messages with descriptors may be received from the socket `channel`, if any.
///
/// Returns false if there is no filter: the kernel has none, or the program is
/// built with a sanitizer, which makes other calls.
Result<bool> FilterSyscalls(bool watches = false, int spill_file = -1,
                            int channel = -1, bool measures = false);

/// Like FilterSyscalls, for a process that fetches URLs: it may make sockets
/// and connect them, and write, rename and remove files, but not accept
/// connections, execute, or make processes. EnterFetcherSandbox limits which
/// files.
Result<bool> FilterFetcherSyscalls();

/// Like FilterSyscalls, for a thread that reads containers for a command, or
/// before a mount is made, and may do more than serve: it refuses only the
/// calls that make or connect sockets, execute, and trace or reach into other
/// processes.
Result<bool> FilterLeavingSyscalls();

/// The calls that the first filter allows, with all arguments or with some,
/// those that watch directories included. A call may be listed twice.
std::vector<int> AllowedSyscalls();

}  // namespace ctxfs
