// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>

#include "fs/mount/server.h"

namespace ctxfs {

/// Enables mapping files opened with direct_io (Linux 6.6). With libfuse 3.17
/// or later, the init operation (fs/fuse/ops.cc) enables it; this is for older
/// versions. Must be called after mounting and before the first request.
void WatchInit(fuse_session* session);

/// Reads from FUSE_INIT, the first request, whether the kernel supports such
/// mappings, and tells `server` if it does. The session of the request must
/// have been passed to WatchInit.
void NoteInit(Server& server, const fuse_buf& request);

}  // namespace ctxfs
