// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/fetch_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/interruptible_wait.h"
#include "core/base/text/text.h"
#include "core/io/io_error.h"
#include "core/remote/client/channel.h"
#include "core/remote/client/messages.h"
#include "core/remote/client/socket_wait.h"

namespace ctxfs::remote {
namespace {

/// Starts a process with the two descriptors, default signal handlers, and no
/// blocked signals.
class Start {
 public:
  Start() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~Start() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  /// Both Prepare and Run return an errno.
  int Prepare(const Fd& socket, const Fd& memory) {
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    int failed = ::posix_spawn_file_actions_adddup2(&actions_, socket.get(),
                                                    kFetchSocket);
    if (failed == 0) {
      failed = ::posix_spawn_file_actions_adddup2(&actions_, memory.get(),
                                                  kFetchMemory);
    }
    if (failed == 0) {
      failed = ::posix_spawnattr_setsigdefault(&attributes_, &all);
    }
    if (failed == 0) failed = ::posix_spawnattr_setsigmask(&attributes_, &none);
    if (failed == 0) {
      failed = ::posix_spawnattr_setflags(
          &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    return failed;
  }

  int Run(const std::string& path, pid_t* process) {
    std::string name = path;
    char* arguments[] = {name.data(), nullptr};
    return ::posix_spawn(process, path.c_str(), &actions_, &attributes_,
                         arguments, ::environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// Copies a descriptor to a number above those that ctxfs-fetch starts with, so
/// that neither overwrites the other.
Fd Above(const Fd& descriptor) {
  return Fd(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 1 + kFetchMemory));
}

Error CannotStart(const std::string& path, int number) {
  Error error = SystemError(
      "cannot start the program that fetches URLs, " + Quote(path), number);
  // A part of the installation is missing, so a retry would fail, too.
  if (number == ENOENT) error.code = Code::kUnsupported;
  return error;
}

}  // namespace

Result<std::chrono::milliseconds> AwaitFetcher(const Fd& socket,
                                               const Request& request) {
  const SocketWait message;
  if (!message.ok()) return IoError("cannot make a descriptor");
  const ListeningTo listening(request.interrupt(),
                              [&message] { message.Tell(); });
  do {
    CTXFS_TRY(request.CheckFor(Interrupt::kUnknownWork));
  } while (!message.Await(socket, request.interrupt().AskAgainAt()));
  const auto ready = DecodeReply(ReceiveMessage(socket.get()).text);
  if (!ready) {
    return Error{Code::kIo, "the process that fetches URLs did not start"};
  }
  if (ready->error) return *ready->error;
  return std::chrono::milliseconds(ready->timeout_ms);
}

Result<std::shared_ptr<FetchClient>> StartFetchProgram(const std::string& path,
                                                       const Request& request) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return IoError("cannot make a socket");
  }
  Fd own(ends[0]);
  Fd other(ends[1]);
  Fd memory(-1);
  SharedSlots slots = CTXFS_TRY(SharedSlots::MakeFile(&memory));
  other = Above(other);
  memory = Above(memory);
  if (!other.ok() || !memory.ok()) return IoError("cannot make a descriptor");
  Start start;
  pid_t process = -1;
  int failed = start.Prepare(other, memory);
  if (failed == 0) failed = start.Run(path, &process);
  if (failed != 0) return CannotStart(path, failed);
  // Waits for the child, which ends as soon as it has started the fetcher.
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  other = Fd(-1);
  const std::chrono::milliseconds timeout =
      CTXFS_TRY(AwaitFetcher(own, request));
  return std::make_shared<FetchClient>(std::move(own), std::move(slots),
                                       timeout);
}

}  // namespace ctxfs::remote
