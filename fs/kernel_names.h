// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>

#include <string>

#include "core/vfs/attributes.h"

namespace ctxfs {

/// Tells the kernel that `name` in `directory` may be something else now: it
/// looks the name up again at its next use, and files that are open stay open.
/// Does nothing if the kernel does not know the name, or if the session ends.
///
/// The kernel waits until no request for a name in that directory is under way.
/// So this may block, and must not be called by a thread that others wait for.
void ForgetKernelName(fuse_session* session, Inode directory,
                      const std::string& name);

/// Has the kernel ask for the attributes of a file or directory again at their
/// next use. Does not block.
void ForgetKernelAttributes(fuse_session* session, Inode inode);

/// Has the kernel drop its pages of a file that nobody has open: it would wait
/// for any READ of them, without an end if the daemon is killed meanwhile.
void DropKernelPages(fuse_session* session, Inode file);

}  // namespace ctxfs
