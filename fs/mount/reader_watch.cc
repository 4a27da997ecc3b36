// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/reader_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxWatched = 256;
constexpr uint64_t kWake = 0;  // in place of a thread

bool Add(int events, int fd, uint64_t thread) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = thread;
  return ::epoll_ctl(events, EPOLL_CTL_ADD, fd, &wanted) == 0;
}

/// Returns the process of a thread, as /proc tells it; 0 if it does not.
pid_t ProcessOf(uint64_t thread) {
  const std::string path = fmt::format("/proc/{}/status", thread);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> bytes;
  const ssize_t got =
      file.ok() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  const std::string_view text(bytes.data(),
                              static_cast<size_t>(got > 0 ? got : 0));
  constexpr std::string_view kKey = "\nTgid:\t";
  const size_t at = text.find(kKey);
  pid_t process = 0;
  if (at != text.npos) {
    std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(),
                    process);
  }
  return process;
}

/// pidfd_open(2): the header of glibc 2.36 declares it for C only.
Fd OpenPidfd(pid_t process) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

/// Opens what becomes readable when the process of a thread ends. Fails with
/// ESRCH in errno if it has ended.
Fd OpenProcess(uint64_t thread) {
  Fd opened = OpenPidfd(static_cast<pid_t>(thread));
  if (opened.ok() || errno == ESRCH) return opened;
  // The thread is not the first one of its process.
  const pid_t process = ProcessOf(thread);
  return process == 0 ? Fd(-1) : OpenPidfd(process);
}

}  // namespace

Result<std::unique_ptr<ReaderWatch>> ReaderWatch::Make(
    std::function<void(uint64_t thread)> ended) {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Fd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!wake.ok() || !events.ok() || !Add(events.get(), wake.get(), kWake)) {
    return IoError("readers cannot be watched");
  }
  return std::unique_ptr<ReaderWatch>(
      new ReaderWatch(std::move(events), std::move(wake), std::move(ended)));
}

void ReaderWatch::Watch(uint64_t thread) {
  if (thread == 0) return;
  const MutexLock lock(mutex_);
  if (watched_.contains(thread)) return;
  if (watched_.size() >= kMaxWatched) watched_.erase(watched_.begin());
  watched_.try_emplace(thread, -1);
  new_.push_back(thread);
  (void)::eventfd_write(wake_.get(), 1);
}

std::vector<uint64_t> ReaderWatch::TakeNew() {
  const MutexLock lock(mutex_);
  return std::exchange(new_, {});
}

void ReaderWatch::Open(uint64_t thread) {
  errno = 0;
  Fd opened = OpenProcess(thread);
  if (!opened.ok() && errno == ESRCH) return End(thread);
  if (!opened.ok() || !Add(events_.get(), opened.get(), thread)) return;
  const MutexLock lock(mutex_);
  const auto found = watched_.find(thread);
  if (found != watched_.end()) found->second = std::move(opened);
}

void ReaderWatch::End(uint64_t thread) {
  {
    const MutexLock lock(mutex_);
    watched_.erase(thread);
  }
  ended_(thread);
}

void ReaderWatch::Answer() {
  std::array<epoll_event, 16> ready{};
  const int count = ::epoll_wait(events_.get(), ready.data(),
                                 static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t thread = ready[static_cast<size_t>(i)].data.u64;
    if (thread != kWake) {
      End(thread);
      continue;
    }
    eventfd_t added = 0;
    (void)::eventfd_read(wake_.get(), &added);
    for (const uint64_t added_one : TakeNew()) Open(added_one);
  }
}

}  // namespace ctxfs
