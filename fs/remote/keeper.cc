// SPDX-License-Identifier: Apache-2.0
#include "fs/remote/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

#include "core/io/fd.h"
#include "core/io/io_error.h"
#include "core/remote/client/messages.h"
#include "core/remote/fetcher/fetcher.h"
#include "fs/sandbox/seccomp.h"

namespace ctxfs {
namespace {

// Pause before restarting a process.
constexpr std::chrono::milliseconds kBetween(50);

/// A pipe. A keeper and its fetcher hold one end; hang-up at the other end
/// tells the standby that both are gone. The standby must wait for that,
/// because two fetchers at a time would write to the same memory.
struct Lifeline {
  Fd watched;
  Fd held;
};

Lifeline MakeLifeline() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {Fd(-1), Fd(-1)};
  return {Fd(ends[0]), Fd(ends[1])};
}

/// Tells the client to repeat requests sent to earlier fetchers.
void Announce(const Kept& kept) {
  remote::FetchReply news;
  news.epoch = ++*kept.epoch;
  const std::string message = remote::Encode(news);
  (void)::send(kept.socket, message.data(), message.size(), MSG_NOSIGNAL);
}

bool IsClosed(int socket) {
  struct pollfd state {
    socket, 0, 0
  };
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

/// Runs a fetcher. Exits with status 0 if no other fetcher must be started,
/// because the client is gone.
[[noreturn]] void Fetch(const Kept& kept, pid_t keeper) {
  (void)::prctl(PR_SET_NAME, "ctxfs-fetcher", 0, 0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != keeper) ::_exit(1);  // killed before PR_SET_PDEATHSIG
  // Also exits with status 0 if confining fails, because it would fail again
  // after a restart.
  const bool done =
      !FilterFetcherSyscalls() ||
      remote::RunFetcher(kept.socket, kept.slots, kept.settings,
                         kept.certificates, kept.cache.get(), *kept.epoch);
  ::_exit(done ? 0 : 1);
}

[[noreturn]] void Lead(const Kept& kept);

/// Becomes the keeper when the keeper and its fetcher are gone.
[[noreturn]] void Stand(const Kept& kept, Lifeline lifeline) {
  (void)::prctl(PR_SET_NAME, "ctxfs-standby", 0, 0, 0);
  lifeline.held = Fd(-1);
  struct pollfd states[] = {{lifeline.watched.get(), POLLIN, 0},
                            {kept.socket, 0, 0}};
  while (states[0].revents == 0 && states[1].revents == 0) {
    if (::poll(states, 2, -1) < 0 && errno != EINTR) break;
  }
  if (IsClosed(kept.socket)) ::_exit(0);
  lifeline.watched = Fd(-1);
  Announce(kept);
  Lead(kept);
}

/// A process that a keeper starts, and restarts when it ends.
struct Child {
  pid_t pid = -1;  // -1: no process runs

  /// Forks unless the child runs. Returns true in the new process.
  bool Start() {
    if (pid < 0) pid = ::fork();
    return pid == 0;
  }
};

void Lead(const Kept& kept) {
  const pid_t self = ::getpid();
  Lifeline lifeline = MakeLifeline();
  Child fetcher;
  Child standby;
  while (!IsClosed(kept.socket)) {
    // The standby starts before the fetcher and before this process is named
    // keeper, so every process with that name has a standby.
    if (lifeline.held.ok() && standby.Start()) {
      Stand(kept, std::move(lifeline));
    }
    (void)::prctl(PR_SET_NAME, "ctxfs-keeper", 0, 0, 0);
    if (fetcher.Start()) Fetch(kept, self);
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended > 0 && ended == standby.pid) standby.pid = -1;
    const bool unserved = ended > 0 && ended == fetcher.pid;
    if (unserved && WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    std::this_thread::sleep_for(kBetween);
    if (!unserved) continue;
    fetcher.pid = -1;
    Announce(kept);
  }
  ::_exit(0);
}

}  // namespace

Result<std::atomic<uint32_t>*> MakeSharedCounter() {
  void* const bytes =
      ::mmap(nullptr, sizeof(std::atomic<uint32_t>), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return IoError("cannot share memory");
  return new (bytes) std::atomic<uint32_t>(0);
}

void Keep(const Kept& kept) { Lead(kept); }

}  // namespace ctxfs
