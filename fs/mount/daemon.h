// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "fs/common/exit_code.h"

namespace ctxfs {

/// Runs `serve` in a child process and waits until it is ready. `serve` calls
/// `ready` once the mount answers; the child then starts its own session,
/// redirects its standard streams to /dev/null and logs to syslog. Returns, in
/// the parent, kOk when the child is ready, else the result of `serve`. The
/// child never returns.
ExitCode RunInBackground(
    const std::function<ExitCode(const std::function<void()>& ready)>& serve);

}  // namespace ctxfs
