// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/vfs/log.h"

namespace ctxfs {

/// Writes "ctxfs: MESSAGE" to standard error.
LogSink StderrSink();

/// Like StderrSink, but never blocks for long, so that a daemon goes on: drops
/// messages that cannot be written within half a second, and from then on those
/// that cannot be written at once, until one can.
LogSink DroppingStderrSink();

/// Writes to syslog as "ctxfs". The thread that calls it must be able to
/// connect to syslog's socket.
LogSink SyslogSink();

}  // namespace ctxfs
