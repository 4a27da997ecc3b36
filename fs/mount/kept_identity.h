// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/vfs.h>

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// Returns a string that identifies an open file among all files, with its
/// owner and mode, which decide who may read it. `st` and `fs` are its stat and
/// statfs.
///
/// Device numbers are reused: tmpfs, NFS and overlay pass theirs to the next
/// mount, loop devices too. So the string contains the identifier of the file
/// system (statfs) and a digest of both ends of the file. Fails with
/// kUnsupported if the file system has neither an identifier nor a device, or
/// is a FUSE file system, where any user can forge identities.
Result<std::string> KeptIdentity(int file, const struct stat& st,
                                 const struct statfs& fs);

}  // namespace ctxfs
