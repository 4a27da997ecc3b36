// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>

namespace ctxfs::ops {

/// The FUSE callbacks. The session's user data is a Server.
const fuse_lowlevel_ops& Operations();

}  // namespace ctxfs::ops
