// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "fs/common/exit_code.h"
#include "fs/mount/options.h"

namespace ctxfs {

/// Opens and mounts the sources, calls `ready` once the mount answers, and
/// serves until it is unmounted or a signal stops it. Logs failures.
ExitCode Serve(const MountOptions& options, const std::function<void()>& ready);

}  // namespace ctxfs
