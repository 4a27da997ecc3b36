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

/// Serves until unmounted or signalled. libfuse returns the number of a signal,
/// which is not a failure.
bool Serve(fuse_session* session, unsigned threads) {
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, threads);
  fuse_loop_cfg_set_idle_threads(config, threads);
  const int ended = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  return ended >= 0;
}

/// Keeps the signals that end the daemon from the calling thread and, until it
/// calls Unblock, from a thread that it starts.
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

/// The threads that do what those that serve may not.
class Helpers {
 public:
  /// Throws std::system_error if no thread can be had.
  Helpers(const std::shared_ptr<LogRelay>& relay,
          std::span<Questions* const> questions, const Fd& wake)
      : log_(relay), stop_{wake.get()} {
    for (Questions* of : questions) answering_.emplace_back(*of, wake.get());
  }

 private:
  /// Has the threads end that wait for this eventfd, too.
  struct Stop {
    ~Stop() { (void)::eventfd_write(wake, 1); }
    const int wake;
  };

  LogThread log_;  // passes on what the others log
  std::list<AnswerThread> answering_;
  const Stop stop_;  // last: the others end after it
};

}  // namespace

bool RunLoop(fuse_session* session, unsigned threads,
             const std::optional<Confinement>& confinement,
             const std::shared_ptr<LogRelay>& relay,
             std::span<Questions* const> questions,
             const std::function<void()>& stop) {
  const Fd ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ended.ok()) return false;
  // libfuse's loop ends when a signal interrupts the thread that is in it.
  const EndingSignals ending;
  // root unmounts by a system call; others execute fusermount3, which is
  // set-uid.
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
