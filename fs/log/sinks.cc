// SPDX-License-Identifier: Apache-2.0
#include "fs/log/sinks.h"

#include <syslog.h>

#include <cstdio>

namespace ctxfs {
namespace {

int SyslogPriority(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return LOG_ERR;
    case LogLevel::kWarning:
      return LOG_WARNING;
    case LogLevel::kInfo:
      return LOG_INFO;
    case LogLevel::kDebug:
      break;
  }
  return LOG_DEBUG;
}

}  // namespace

LogSink StderrSink() {
  return [](LogLevel /*level*/, const std::string& message) {
    return std::fprintf(stderr, "ctxfs: %s\n", message.c_str()) >= 0;
  };
}

LogSink SyslogSink() {
  ::openlog("ctxfs", LOG_PID, LOG_DAEMON);
  return [](LogLevel level, const std::string& message) {
    ::syslog(SyslogPriority(level), "%s", message.c_str());
    return true;
  };
}

}  // namespace ctxfs
