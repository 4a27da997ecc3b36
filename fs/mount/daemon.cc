// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/io/fd.h"
#include "core/io/io_error.h"
#include "core/vfs/log.h"
#include "fs/log/sinks.h"

namespace ctxfs {
namespace {

void Detach() {
  ::setsid();
  (void)!::chdir("/");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      ::dup2(null, stream);
    }
    if (null > STDERR_FILENO) ::close(null);
  }
  SetLogSink(SyslogSink());
}

}  // namespace

ExitCode RunInBackground(
    const std::function<ExitCode(const std::function<void()>& ready)>& serve) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return EndWith(ExitCode::kFuse, IoError("cannot create a pipe").what);
  }
  Fd from(pipe_ends[0]);
  Fd to(pipe_ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    return EndWith(ExitCode::kFuse, IoError("cannot start the daemon").what);
  }
  if (child == 0) {
    from = Fd(-1);
    // Stays in the process group until the mount answers: an autofs trigger
    // (x-systemd.automount) lets only the group of mount(8) through until then.
    const ExitCode code = serve([&] {
      Detach();
      (void)!::write(to.get(), "", 1);
      to = Fd(-1);
    });
    std::exit(static_cast<int>(code));
  }

  to = Fd(-1);
  char byte = 0;
  ssize_t n = 0;
  do {
    n = ::read(from.get(), &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n == 1) return ExitCode::kOk;

  // The child ended before it was ready, and has logged why.
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    return static_cast<ExitCode>(WEXITSTATUS(status));
  }
  return EndWith(ExitCode::kFuse,
                 "the daemon ended before the mount was ready");
}

}  // namespace ctxfs
