// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Denies the calling thread, and every thread that it starts from then on, new
/// privileges and all use of the file system except reading below the
/// directories `trees` and opening the FUSE device. If `written` is the
/// descriptor of a directory, they can also make directories and make, write,
/// rename, link and remove files below it, but not read them. From Landlock
/// interface 4 on they cannot bind or connect TCP sockets, from 6 on neither
/// connect to abstract UNIX sockets nor signal other processes. Open files stay
/// open. Cannot be undone.
///
/// Returns the version of the kernel's Landlock interface; 0 if it has none,
/// and then only new privileges are denied.
Result<int> EnterSandbox(const std::vector<std::string>& trees,
                         int written = -1);

/// Denies a process that fetches URLs, and everything it starts, new privileges
/// and all use of the file system except reading `files`, and making, reading,
/// writing, renaming and removing files below the directory with the descriptor
/// `directory`; -1: none. It may connect sockets, but not bind those of TCP.
/// Otherwise like EnterSandbox.
Result<int> EnterFetcherSandbox(const std::vector<std::string>& files,
                                int directory);

/// Denies the calling thread, and everything it starts, new privileges by
/// executing a file.
void DenyNewPrivileges();

}  // namespace ctxfs
