// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>

#include "fs/mount/server.h"

namespace ctxfs {

/// Asks the kernel to let files be mapped that are opened with direct_io; Linux
/// has that from 6.6 on, libfuse from 3.17 on. To be called once the session is
/// mounted, and before its first request is received. A libfuse that knows how
/// to ask leaves it to the init operation.
void WatchInit(fuse_session* session);

/// Reads in the kernel's first request whether it has that, and tells the
/// session's server. For a session that WatchInit was called with.
void NoteInit(Server& server, const fuse_buf& request);

}  // namespace ctxfs
