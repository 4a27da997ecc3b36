// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Refuses with EPERM, to the calling thread and every thread that it starts
/// later, all system calls that serving files does not need: calls that
/// execute, trace or mount, map executable memory, make sockets or processes,
/// or signal other processes, among others. Needs PR_SET_NO_NEW_PRIVS.
/// Irreversible.
///
/// `watches` allows watching directories; the inotify descriptor must exist.
/// `measures` allows fstatfs. Writing to the descriptor `spill_file` is
/// allowed, and so is receiving messages with descriptors from the socket
/// `channel`; -1: none.
///
/// Returns false without a filter: the kernel has none, or the program is built
/// with a sanitizer, which makes other calls.
Result<bool> FilterSyscalls(bool watches = false, int spill_file = -1,
                            int channel = -1, bool measures = false);

/// Like FilterSyscalls, for a process that fetches URLs. It may make and
/// connect sockets and write, rename and remove files (EnterFetcherSandbox
/// limits which), but not accept connections, execute, or make processes.
Result<bool> FilterFetcherSyscalls();

/// Like FilterSyscalls, for a thread that reads containers for a command or
/// before a mount exists, and needs more than a serving thread. Refuses only
/// calls with which code that a hostile container has taken over could leave
/// the process, such as making and connecting sockets, executing, and tracing
/// or accessing other processes.
Result<bool> FilterLeavingSyscalls();

/// The calls that FilterSyscalls allows, with all arguments or with some, calls
/// that watch directories included. May have duplicates.
std::vector<int> AllowedSyscalls();

}  // namespace ctxfs
