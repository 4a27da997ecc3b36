// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// Finds the file or directory at `path`, following links, without opening it
/// for reading (O_PATH): neither a fifo nor a device notices. `flags` are
/// further ones of open(2): O_DIRECTORY. Once MountGuard is started, the walk
/// ends with EXDEV where it would enter a file system that the guard forbids,
/// and no request reaches that file system. Errors have a sys_errno.
Result<Fd> FindPath(const std::string& path, int flags = 0);

/// Like FindPath, for an absolute path, but follows no link: fails with ELOOP
/// if a directory of the path is a link. A link at the end is returned itself.
Result<Fd> FindWithoutLinks(const std::string& path);

/// Like FindPath, for a path below `directory`. Fails with kCorrupt for one
/// that leads out of it, by "..", from the root, through a link, or into a file
/// system that the guard forbids; with kNotFound where nothing is.
Result<Fd> FindBeneath(const std::string& directory, const std::string& path,
                       int flags);

/// Permits every file system that the walk to `path` enters, so that a SOURCE
/// may lie on a mount of ctxfs (MountGuard::Permit).
Status PermitPath(const std::string& path);

}  // namespace ctxfs
