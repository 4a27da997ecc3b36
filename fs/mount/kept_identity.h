// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/vfs.h>

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// Returns what tells an open file, of which the kernel has said `st` and `fs`,
/// from every other file, and its owner and mode, which say who may read it.
///
/// The number of a file system is given to another one after it: of tmpfs, NFS
/// and overlay to the next that is mounted, and that of a loop device too. So
/// the identifier of the file system (statfs) is part of it, and a digest of
/// the bytes at both ends of the file. Fails with kUnsupported if there is
/// neither identifier nor device, or if it is a FUSE file system: any user can
/// write one whose files have any identity.
Result<std::string> KeptIdentity(int file, const struct stat& st,
                                 const struct statfs& fs);

}  // namespace ctxfs
