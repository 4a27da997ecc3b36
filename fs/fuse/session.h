// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "fs/common/exit_code.h"
#include "fs/mount/options.h"

namespace ctxfs {

/// Opens the sources, mounts them, calls `ready` once the mount answers, and
/// serves until it is unmounted or told to stop. Failures are logged.
ExitCode Serve(const MountOptions& options, const std::function<void()>& ready);

}  // namespace ctxfs
