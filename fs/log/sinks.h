// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/vfs/log.h"

namespace ctxfs {

/// Writes "ctxfs: MESSAGE" to standard error.
LogSink StderrSink();

/// Like StderrSink, but does not block for long: drops messages that cannot be
/// written within half a second. After a drop it does not wait at all until a
/// message can be written at once.
LogSink DroppingStderrSink();

/// Writes to syslog as "ctxfs". The calling thread must be able to connect to
/// syslog's socket.
LogSink SyslogSink();

}  // namespace ctxfs
