// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/reader_watch.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "core/io/io_error.h"
#include "fs/mount/thread_status.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxWatched = 256;
constexpr uint64_t kQuestions = 0;  // names threads_.fd() instead of a thread

bool Add(const Fd& ready, int fd, uint64_t thread) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = thread;
  return ::epoll_ctl(ready.get(), EPOLL_CTL_ADD, fd, &wanted) == 0;
}

/// pidfd_open(2): the header of glibc 2.36 declares it for C only.
Fd OpenPidfd(pid_t process) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

/// Returns the process of a thread; 0 if there is none, or /proc hides it.
pid_t NumberOf(uint64_t thread) {
  constexpr int kDecimal = 10;
  return NumberAfter<pid_t>(ThreadStatus(thread), "\nTgid:\t", kDecimal)
      .value_or(0);
}

}  // namespace

Result<std::unique_ptr<ReaderWatch>> ReaderWatch::Make(
    std::function<void(uint64_t thread)> ended) {
  Fd wake = CTXFS_TRY(decltype(threads_)::MakeWake());
  Fd ready(::epoll_create1(EPOLL_CLOEXEC));
  if (!ready.ok() || !Add(ready, wake.get(), kQuestions)) {
    return IoError("readers cannot be watched");
  }
  return std::unique_ptr<ReaderWatch>(
      new ReaderWatch(std::move(ready), std::move(wake), std::move(ended)));
}

void ReaderWatch::Watch(uint64_t thread) {
  if (thread == kQuestions) return;
  {
    const MutexLock lock(mutex_);
    if (watched_.contains(thread)) return;
  }
  threads_.Post(thread);
}

ReaderWatch::Watched ReaderWatch::WatchNew(uint64_t thread) {
  const pid_t known = NumberOf(thread);
  // If /proc hides the process, assumes that `thread` is its first thread,
  // whose number is that of the process.
  const pid_t number = known != 0 ? known : static_cast<pid_t>(thread);
  Fd opened = OpenPidfd(number);
  if (!opened.ok()) {
    if (errno == ESRCH) ended_(thread);
    return {};
  }
  const MutexLock lock(mutex_);
  if (watched_.contains(thread)) return {};
  if (watched_.size() >= kMaxWatched) watched_.erase(watched_.begin());
  const auto added =
      watched_.emplace(thread, Process{std::move(opened), number}).first;
  if (!Add(ready_, added->second.descriptor.get(), thread)) {
    watched_.erase(added);
  }
  return {};
}

void ReaderWatch::End(uint64_t thread) {
  pid_t process = 0;
  {
    const MutexLock lock(mutex_);
    const auto found = watched_.find(thread);
    if (found == watched_.end()) return;
    process = found->second.number;
    watched_.erase(found);
  }
  // The thread may have ended long before its process, so that another process
  // has the thread's number now.
  const pid_t now = NumberOf(thread);
  if (now == 0 || now == process) ended_(thread);
}

void ReaderWatch::Answer() {
  std::array<epoll_event, 16> ready{};
  const int count = ::epoll_wait(ready_.get(), ready.data(),
                                 static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t thread = ready[static_cast<size_t>(i)].data.u64;
    if (thread == kQuestions) {
      threads_.AnswerAll([this](uint64_t one) { return WatchNew(one); },
                         [](const auto& /*unused*/) {});
      continue;
    }
    try {
      End(thread);
    } catch (...) {
      // Nothing was cancelled, so read-ahead that nobody waits for runs to its
      // end.
    }
  }
}

}  // namespace ctxfs
