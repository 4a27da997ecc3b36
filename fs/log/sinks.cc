// SPDX-License-Identifier: Apache-2.0
#include "fs/log/sinks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "core/io/fd.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

/// Indexed by LogLevel.
constexpr int kPriorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

std::string LineOf(const std::string& message) {
  return "ctxfs: " + ShownText(message) + "\n";
}

/// Reopens standard error with O_NONBLOCK if it is a pipe, a terminal or
/// another character device, because other processes share the flags of the
/// original descriptor. Otherwise returns no descriptor, and the caller uses
/// the original one.
Fd OpenStderr() {
  struct stat st {};
  if (::fstat(STDERR_FILENO, &st) != 0) return Fd(-1);
  if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) return Fd(-1);
  return Fd(
      ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/// Writes lines; drops a line if the reader does not take it in time.
class DroppingLines {
 public:
  bool Write(std::string_view line) {
    // Longer writes to a pipe are not atomic.
    line = line.substr(0, PIPE_BUF);
    pollfd ready{descriptor(), POLLOUT, 0};
    constexpr int kPatienceMs = 500;
    const bool taken = ::poll(&ready, 1, blocked_ ? 0 : kPatienceMs) > 0 &&
                       ::write(ready.fd, line.data(), line.size()) > 0;
    blocked_ = !taken;
    return taken;
  }

 private:
  int descriptor() const { return own_.ok() ? own_.get() : STDERR_FILENO; }

  const Fd own_ = OpenStderr();
  std::atomic<bool> blocked_ = false;
};

}  // namespace

LogSink StderrSink() {
  return [](LogLevel /*level*/, const std::string& message) {
    return std::fputs(LineOf(message).c_str(), stderr) >= 0;
  };
}

LogSink DroppingStderrSink() {
  const auto lines = std::make_shared<DroppingLines>();
  return [lines](LogLevel /*level*/, const std::string& message) {
    return lines->Write(LineOf(message));
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
