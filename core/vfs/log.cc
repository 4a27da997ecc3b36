// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/log.h"

#include <syslog.h>

#include <cstdio>

namespace ctxfs {
namespace {

LogLevel g_level = LogLevel::kWarning;
bool g_syslog = false;

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

bool ParseLogLevel(std::string_view text, LogLevel* level) {
  constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (text == kNames[i]) {
      *level = static_cast<LogLevel>(i);
      return true;
    }
  }
  return false;
}

void SetLogLevel(LogLevel level) { g_level = level; }

void LogToSyslog() {
  openlog("ctxfs", LOG_PID, LOG_DAEMON);
  g_syslog = true;
}

void Log(LogLevel level, const std::string& message) {
  if (level > g_level) return;
  if (g_syslog) {
    syslog(SyslogPriority(level), "%s", message.c_str());
  } else {
    std::fprintf(stderr, "ctxfs: %s\n", message.c_str());
  }
}

}  // namespace ctxfs
