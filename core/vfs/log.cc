// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/log.h"

#include <iterator>
#include <utility>

namespace ctxfs {
namespace {

LogLevel g_level = LogLevel::kWarning;

LogSink& Sink() {
  static LogSink sink;
  return sink;
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

LogSink SetLogSink(LogSink sink) {
  return std::exchange(Sink(), std::move(sink));
}

bool Log(LogLevel level, const std::string& message) {
  return level <= g_level && Sink() != nullptr && Sink()(level, message);
}

}  // namespace ctxfs
