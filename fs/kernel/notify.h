// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// Notifies the service manager that started this process that it is ready
/// (sd_notify(3)): sends READY=1 and STATUS=`status` (one line) to the socket
/// in NOTIFY_SOCKET, and unsets that variable. Does nothing if it is unset.
/// Logs a warning on failure.
void NotifyReady(const std::string& status);

}  // namespace ctxfs
