// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/vfs/log.h"

namespace ctxfs {

/// Writes "ctxfs: MESSAGE" to standard error.
LogSink StderrSink();

/// Writes to syslog as "ctxfs". The thread that calls it must be able to
/// connect to syslog's socket.
LogSink SyslogSink();

}  // namespace ctxfs
