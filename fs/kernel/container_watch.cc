// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel/container_watch.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

// When the file loses its last name, its count of links changes (IN_ATTRIB).
// IN_DELETE_SELF would come only after the mount has closed the file.
constexpr uint32_t kWatched = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF;

bool StartSeconds(const Fd& timer) {
  const itimerspec each{.it_interval = {1, 0}, .it_value = {1, 0}};
  return ::timerfd_settime(timer.get(), 0, &each, nullptr) == 0;
}

bool Add(const Fd& ready, const Fd& added) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  return ::epoll_ctl(ready.get(), EPOLL_CTL_ADD, added.get(), &wanted) == 0;
}

}  // namespace

Result<std::unique_ptr<ContainerWatch>> ContainerWatch::Make(
    const std::string& path, std::function<void()> changed) {
  Descriptors made{.file = Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)),
                   .events = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
                   .timer = Fd(::timerfd_create(CLOCK_MONOTONIC,
                                                TFD_CLOEXEC | TFD_NONBLOCK)),
                   .ready = Fd(::epoll_create1(EPOLL_CLOEXEC))};
  const bool opened =
      made.file.ok() && made.events.ok() && made.timer.ok() && made.ready.ok();
  if (!opened ||
      ::inotify_add_watch(made.events.get(), path.c_str(), kWatched) < 0 ||
      !StartSeconds(made.timer) || !Add(made.ready, made.events) ||
      !Add(made.ready, made.timer)) {
    return IoError("the container cannot be watched");
  }
  return std::unique_ptr<ContainerWatch>(
      new ContainerWatch(std::move(made), std::move(changed)));
}

ContainerWatch::ContainerWatch(Descriptors descriptors,
                               std::function<void()> changed)
    : file_(std::move(descriptors.file)),
      events_(std::move(descriptors.events)),
      timer_(std::move(descriptors.timer)),
      ready_(std::move(descriptors.ready)),
      changed_(std::move(changed)),
      seen_(Identity()) {}

FileIdentity ContainerWatch::Identity() const {
  struct stat st {};
  return ::fstat(file_.get(), &st) == 0 ? FileIdentity::Of(st) : FileIdentity();
}

bool ContainerWatch::TakeEvents() const {
  char events[4096];
  bool any = false;
  while (::read(events_.get(), events, sizeof(events)) > 0) any = true;
  return any;
}

bool ContainerWatch::TakeTurn() {
  uint64_t seconds = 0;
  if (::read(timer_.get(), &seconds, sizeof(seconds)) < 0) return false;
  const FileIdentity before = std::exchange(seen_, Identity());
  return seen_ != before;
}

void ContainerWatch::Answer() {
  // Calls changed_ twice for each change: a request that examined the container
  // just before the change may be answered after the first call.
  constexpr int kCalls = 2;
  const bool reported = TakeEvents();
  if (TakeTurn() || reported) calls_ = kCalls;
  if (calls_ == 0) return;
  try {
    changed_();
    --calls_;
  } catch (...) {
    return;  // called again a second later
  }
  // Waits, because a container that is being written to causes an event at each
  // write.
  constexpr std::chrono::milliseconds kMoment(10);
  if (reported) std::this_thread::sleep_for(kMoment);
}

}  // namespace ctxfs
