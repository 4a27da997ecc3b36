// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Denies the calling thread, and every thread that it starts later, new
/// privileges and all use of the file system except reading below the
/// directories `trees` and opening the FUSE device. With `written`, the
/// descriptor of a directory, the threads can also list and make directories
/// below it, and make, write, rename, link and remove files, but not read
/// files. Landlock interface 4 also denies binding and connecting TCP sockets;
/// interface 6 denies connecting to abstract UNIX sockets and signalling other
/// processes. Open files stay open. Irreversible.
///
/// Returns the version of the kernel's Landlock interface; 0 if it has none, so
/// that only new privileges are denied.
Result<int> EnterSandbox(const std::vector<std::string>& trees,
                         int written = -1);

/// Denies a process that fetches URLs, and its descendants, new privileges and
/// all use of the file system except reading `files`, and making, reading,
/// writing, renaming and removing files and directories below the directory
/// with the descriptor `directory`; -1: none. The process may connect sockets,
/// but not bind TCP sockets. Otherwise like EnterSandbox.
Result<int> EnterFetcherSandbox(const std::vector<std::string>& files,
                                int directory);

/// Denies a process new privileges and all use of the file system except
/// removing empty directories below `directory`. Otherwise like EnterSandbox.
Result<int> EnterRemoverSandbox(const std::string& directory);

/// Denies the calling thread and its descendants new privileges by execve.
void DenyNewPrivileges();

}  // namespace ctxfs
