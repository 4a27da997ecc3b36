// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "fs/common/exit_code.h"

namespace ctxfs {

/// Runs `serve` in a child process and waits until it is ready. `serve` calls
/// the function it is given once the mount answers; from then on the child has
/// a session of its own, its standard streams are /dev/null and it logs to
/// syslog. Returns, in the parent, kOk when the child is ready, or what `serve`
/// returned. The child never returns.
ExitCode RunInBackground(
    const std::function<ExitCode(const std::function<void()>& ready)>& serve);

}  // namespace ctxfs
