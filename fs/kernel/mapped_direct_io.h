// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>

#include "fs/mount/server.h"

namespace ctxfs {

/// Enables mapping files opened with direct_io (Linux 6.6). libfuse from 3.17
/// on does that in its init operation; this is for older versions. Call after
/// mounting and before the first request.
void WatchInit(fuse_session* session);

/// Reads from FUSE_INIT, the first request, whether the kernel supports it, and
/// sets that in `server`. For a session passed to WatchInit.
void NoteInit(Server& server, const fuse_buf& request);

}  // namespace ctxfs
