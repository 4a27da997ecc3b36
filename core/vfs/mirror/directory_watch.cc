// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/directory_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <set>
#include <system_error>
#include <utility>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr uint32_t kWatched =
    kNames | IN_ATTRIB | IN_MODIFY | IN_ONLYDIR | IN_EXCL_UNLINK;

/// Milliseconds for which events are collected before they are reported. A file
/// that is being written causes an event at each write.
constexpr int kMomentMs = 10;

void Wait(std::initializer_list<int> fds, int timeout_ms) {
  std::vector<pollfd> ready;
  for (const int fd : fds) ready.push_back({fd, POLLIN, 0});
  (void)::poll(ready.data(), ready.size(), timeout_ms);
}

}  // namespace

struct DirectoryWatch::Batch {
  std::set<std::pair<Inode, std::string>> changed;
  bool lost = false;
};

Result<std::unique_ptr<DirectoryWatch>> DirectoryWatch::Make() {
  Fd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!events.ok()) return IoError("directories cannot be watched");
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.ok()) return IoError("directories cannot be watched");
  return std::unique_ptr<DirectoryWatch>(
      new DirectoryWatch(std::move(events), std::move(wake)));
}

DirectoryWatch::~DirectoryWatch() {
  Stop();
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

void DirectoryWatch::Stop() {
  stop_ = true;
  constexpr uint64_t kOne = 1;
  (void)!::write(wake_.get(), &kOne, sizeof(kOne));
}

void DirectoryWatch::SetListener(Listener listener) {
  const MutexLock lock(mutex_);
  listener_ = std::move(listener);
}

bool DirectoryWatch::IsWatched(Inode directory) const {
  const MutexLock lock(mutex_);
  if (!thread_.joinable() && listener_.changed != nullptr) return false;
  return watch_of_.contains(directory);
}

void DirectoryWatch::StartThread() {
  if (thread_.joinable() || listener_.changed == nullptr || stop_) return;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The next look-up tries again to start the thread.
  }
}

void DirectoryWatch::Watch(Inode directory, const std::string& path) {
  const MutexLock lock(mutex_);
  StartThread();
  if (watch_of_.contains(directory) || watch_of_.size() >= kMaxWatches) {
    return;
  }
  const int watch = ::inotify_add_watch(events_.get(), path.c_str(), kWatched);
  if (watch < 0) return;
  watch_of_.emplace(directory, watch);
  shown_as_[watch].push_back(directory);
}

void DirectoryWatch::Forget(Inode directory) {
  const MutexLock lock(mutex_);
  const auto found = watch_of_.find(directory);
  if (found == watch_of_.end()) return;
  const int watch = found->second;
  watch_of_.erase(found);
  std::vector<Inode>& shown = shown_as_[watch];
  std::erase(shown, directory);
  if (!shown.empty()) return;
  shown_as_.erase(watch);
  (void)::inotify_rm_watch(events_.get(), watch);
}

void DirectoryWatch::HandleEvent(int watch, uint32_t what,
                                 std::string_view name, Batch& batch) {
  const auto shown = shown_as_.find(watch);
  if (shown == shown_as_.end()) return;
  if ((what & IN_IGNORED) != 0) {
    // The directory was removed, and its watch with it.
    for (const Inode directory : shown->second) watch_of_.erase(directory);
    shown_as_.erase(shown);
    return;
  }
  for (const Inode directory : shown->second) {
    if (!name.empty()) batch.changed.emplace(directory, name);
    // The times of a directory change with its names.
    if (name.empty() || (what & kNames) != 0) {
      batch.changed.emplace(directory, "");
    }
  }
}

bool DirectoryWatch::Read(Batch& batch) {
  constexpr size_t kRead = 16 * 1024;
  // Bounds the batch: a directory may change without end.
  constexpr size_t kMaxChanges = 10'000;
  char bytes[kRead];
  while (batch.changed.size() < kMaxChanges) {
    const ssize_t got = ::read(events_.get(), bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && errno == EAGAIN;
    const MutexLock lock(mutex_);
    const auto end = static_cast<size_t>(got);
    for (size_t at = 0; at + sizeof(inotify_event) <= end;) {
      inotify_event event{};
      std::memcpy(&event, bytes + at, sizeof(event));
      const char* const name = bytes + at + sizeof(event);
      if ((event.mask & IN_Q_OVERFLOW) != 0) batch.lost = true;
      HandleEvent(event.wd, event.mask,
                  std::string_view(name, ::strnlen(name, event.len)), batch);
      at += sizeof(event) + event.len;
    }
  }
  return true;
}

void DirectoryWatch::Tell(const Batch& batch) const {
  Listener listener;
  {
    const MutexLock lock(mutex_);
    listener = listener_;
  }
  if (listener.changed == nullptr) return;
  if (batch.lost) listener.lost();
  for (const auto& [directory, name] : batch.changed) {
    if (stop_) return;
    listener.changed(directory, name);
  }
}

bool DirectoryWatch::Pass(bool lost) {
  Batch batch;
  batch.lost = lost;
  const bool more = Read(batch);
  Tell(batch);
  return more;
}

void DirectoryWatch::Run() {
  bool lost = false;  // changes were lost: memory ran out
  while (!stop_) {
    if (!lost) Wait({events_.get(), wake_.get()}, -1);
    if (stop_) return;
    Wait({wake_.get()}, kMomentMs);
    try {
      if (!Pass(lost)) return;
      lost = false;
    } catch (...) {
      lost = true;
    }
  }
}

}  // namespace ctxfs
