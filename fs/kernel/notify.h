// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// Tells the service manager that started this process that it is ready, as
/// sd_notify(3) describes: sends READY=1 and STATUS=`status` (one line) to the
/// socket in NOTIFY_SOCKET, and removes that variable. Does nothing without it.
/// Logs a warning if the message cannot be sent.
void NotifyReady(const std::string& status);

}  // namespace ctxfs
