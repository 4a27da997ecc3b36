// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "fs/common/exit_code.h"

namespace ctxfs {

/// Runs `serve` in a child process, and waits until the child is ready or ends.
/// `serve` must call `ready` once the mount answers. The child then starts its
/// own session, changes to the directory /, redirects its standard streams to
/// /dev/null and logs to syslog. Returns, in the parent, kOk when the child is
/// ready; else the result of `serve`, or kFuse if that is kOk, a signal ended
/// the child, or the child could not start. The child never returns.
ExitCode RunInBackground(
    const std::function<ExitCode(const std::function<void()>& ready)>& serve);

}  // namespace ctxfs
