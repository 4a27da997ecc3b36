// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>

#include "core/base/result.h"
#include "fs/server.h"

namespace ctxfs {

/// Answers the kernel's first request, FUSE_INIT, in this thread. To be called
/// once the session is mounted, and before there are threads; after it the
/// mount works.
///
/// Asks the kernel for what this libfuse does not know of: to let files be
/// mapped that are opened with direct_io (Linux 6.6), which libfuse has from
/// 3.17 on, and to send requests by io_uring (Linux 6.14), which no package of
/// libfuse has. Fails if libfuse does, and with io_uring=on if there is none.
Status AnswerInit(fuse_session* session, Server& server);

}  // namespace ctxfs
