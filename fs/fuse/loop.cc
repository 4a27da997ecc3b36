// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/loop.h"

#include <fuse_lowlevel.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <list>
#include <thread>

#include "core/io/fd.h"
#include "fs/fuse/answer_thread.h"
#include "fs/log/log_thread.h"
#include "fs/sandbox/sandbox.h"

namespace ctxfs {
namespace {

/// Serves until unmounted or signalled. After a signal, libfuse returns its
/// number, which is no failure.
bool Serve(fuse_session* session, unsigned threads) {
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, threads);
  fuse_loop_cfg_set_idle_threads(config, threads);
  const int ended = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  return ended >= 0;
}

/// Blocks the signals that end the daemon: in the calling thread until the
/// destructor, and in each thread started meanwhile until that thread calls
/// Unblock.
class EndingSignals {
 public:
  EndingSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
      sigaddset(&ending, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~EndingSignals() { Unblock(); }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

  void Unblock() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// The helper threads, which are not confined.
class Helpers {
 public:
  /// Throws std::system_error if a thread cannot start.
  Helpers(const std::shared_ptr<LogRelay>& relay,
          std::span<Questions* const> questions, const Fd& wake)
      : log_(relay), stop_{wake.get()} {
    for (Questions* of : questions) answering_.emplace_back(*of, wake.get());
  }

 private:
  /// Wakes the threads that wait for this eventfd, so that they stop.
  struct Stop {
    ~Stop() { (void)::eventfd_write(wake, 1); }
    const int wake;
  };

  LogThread log_;  // forwards the messages of other threads
  std::list<AnswerThread> answering_;
  const Stop stop_;  // last: destroyed first, which stops the others
};

}  // namespace

bool RunLoop(fuse_session* session, unsigned threads,
             const std::optional<Confinement>& confinement,
             const std::shared_ptr<LogRelay>& relay,
             std::span<Questions* const> questions,
             const std::function<void()>& stop) {
  const Fd ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ended.ok()) return false;
  // libfuse's loop ends only if the signal interrupts the thread that runs the
  // loop, so all other threads block these signals.
  const EndingSignals ending;
  // Only root can do without set-uid programs: root unmounts by a system call,
  // other users execute fusermount3 (set-uid).
  if (confinement && ::geteuid() == 0) DenyNewPrivileges();
  const Helpers helpers(relay, questions, ended);
  bool served = false;
  std::thread server([&] {
    if (confinement) Confine(*confinement);
    ending.Unblock();
    served = Serve(session, threads);
    stop();
  });
  server.join();
  return served;
}

}  // namespace ctxfs
