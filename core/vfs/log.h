// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ctxfs {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// Reads "error" to "debug"; false for anything else.
bool ParseLogLevel(std::string_view text, LogLevel* level);

/// Messages above `level` are dropped. Set before threads start.
void SetLogLevel(LogLevel level);

/// From here on to syslog instead of standard error.
void LogToSyslog();

/// One line, from any thread.
void Log(LogLevel level, const std::string& message);

}  // namespace ctxfs
