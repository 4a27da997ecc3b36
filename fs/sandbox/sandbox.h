// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Denies the calling thread, and every thread that it starts from then on, new
/// privileges and all use of the file system but reading below `trees`, which
/// are directories, and opening the FUSE device. From Landlock interface 4 on
/// they cannot bind or connect TCP sockets, from 6 on neither connect to
/// abstract UNIX sockets nor signal other processes. Open files stay open.
/// Cannot be undone.
///
/// Returns the version of the kernel's Landlock interface; 0 if it has none,
/// and then only new privileges are denied.
Result<int> EnterSandbox(const std::vector<std::string>& trees);

/// Denies the calling thread, and everything it starts, new privileges by
/// executing a file.
void DenyNewPrivileges();

}  // namespace ctxfs
