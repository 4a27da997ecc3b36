// SPDX-License-Identifier: Apache-2.0
#include "fs/log/sinks.h"

#include <syslog.h>

#include <cstdio>

#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

/// Of each LogLevel.
constexpr int kPriorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

}  // namespace

LogSink StderrSink() {
  return [](LogLevel /*level*/, const std::string& message) {
    return std::fprintf(stderr, "ctxfs: %s\n", ShownText(message).c_str()) >= 0;
  };
}

LogSink SyslogSink() {
  ::openlog("ctxfs", LOG_PID, LOG_DAEMON);
  return [](LogLevel level, const std::string& message) {
    ::syslog(kPriorities[static_cast<size_t>(level)], "%s", message.c_str());
    return true;
  };
}

}  // namespace ctxfs
