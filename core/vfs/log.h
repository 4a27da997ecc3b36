// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ctxfs {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// Parses "error", "warning", "info" or "debug"; returns false for other texts.
bool ParseLogLevel(std::string_view text, LogLevel* level);

/// Drops messages above `level` from now on. Must be called before threads
/// start.
void SetLogLevel(LogLevel level);

/// A destination of messages, called from any thread. Returns false if it
/// drops the message.
using LogSink = std::function<bool(LogLevel level, const std::string& message)>;

/// Sends messages to `sink` from now on and returns the previous sink. Without
/// a sink every message is dropped: the library itself prints nothing. Must not
/// be called while another thread logs.
LogSink SetLogSink(LogSink sink);

/// Logs one message. Returns false if its level or the sink dropped it.
/// Callable from any thread.
bool Log(LogLevel level, const std::string& message);

}  // namespace ctxfs
