// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// Finds the file or directory at `path`, following links. Opens it with
/// O_PATH, not for reading, so that opening a fifo or a device has no effect on
/// it. `flags` are further flags of open(2), such as O_DIRECTORY. Once
/// MountGuard is started, the walk fails with EXDEV before it enters a
/// forbidden file system, which receives no request. Errors have a sys_errno.
Result<Fd> FindPath(const std::string& path, int flags = 0);

/// Calls fstat(2) of what FindPath finds, by stat(2) where nothing is
/// forbidden, which is one system call in place of three.
Result<struct stat> StatPath(const std::string& path);

/// Like FindPath, for an absolute path, but fails with ELOOP if a directory of
/// the path is a link. If the last component is a link, returns the link
/// itself.
Result<Fd> FindWithoutLinks(const std::string& path);

/// Like FindPath, for a path below `directory`. Fails with kCorrupt if the path
/// leads out of `directory` (by "..", from the root, or through a link) or into
/// a forbidden file system, and with kNotFound if the path does not exist.
Result<Fd> FindBeneath(const std::string& directory, const std::string& path,
                       int flags);

/// Permits every file system on the way to `path`, so that a SOURCE may lie on
/// a mount of ctxfs (MountGuard::Permit).
Status PermitPath(const std::string& path);

}  // namespace ctxfs
