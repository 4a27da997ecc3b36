// SPDX-License-Identifier: Apache-2.0
#include "core/io/mount_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/mutex.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

/// Returns the devices of type fuse.ctxfs in a mountinfo table (proc(5)).
std::set<dev_t> DevicesIn(std::string_view table) {
  constexpr std::string_view kType = " - fuse.ctxfs ";
  std::set<dev_t> devices;
  while (!table.empty()) {
    const std::string line(table.substr(0, table.find('\n')));
    table.remove_prefix(std::min(table.size(), line.size() + 1));
    unsigned major = 0;
    unsigned minor = 0;
    if (line.find(kType) != std::string::npos &&
        std::sscanf(line.c_str(), "%*u %*u %u:%u", &major, &minor) == 2) {
      devices.insert(::makedev(major, minor));
    }
  }
  return devices;
}

/// The state of MountGuard. Keeps the mount table open, since the sandbox
/// forbids opening it later, and rereads it when the kernel reports a change.
class Guard {
 public:
  static Guard& Instance() {
    static Guard guard;
    return guard;
  }

  std::atomic<bool> started = false;

  /// Starts with `table`, or stops if there is none.
  void Start(Fd table) {
    const MutexLock lock(mutex_);
    started = table.ok();
    table_ = std::move(table);
    read_ = false;
    if (!started) permitted_.clear();
  }

  void Permit(dev_t device) {
    const MutexLock lock(mutex_);
    permitted_.insert(device);
  }

  bool Forbids(dev_t device) {
    const MutexLock lock(mutex_);
    if (!table_.ok() || permitted_.contains(device)) return false;
    if (Changed() || !read_) Read();
    return devices_.contains(device);
  }

 private:
  bool Changed() CTXFS_REQUIRES(mutex_) {
    pollfd table{table_.get(), POLLPRI, 0};
    return ::poll(&table, 1, 0) != 0;
  }

  void Read() CTXFS_REQUIRES(mutex_) {
    std::string text;
    char piece[16384];
    ssize_t n = 0;
    while ((n = ::pread(table_.get(), piece, sizeof(piece),
                        static_cast<off_t>(text.size()))) > 0) {
      text.append(piece, static_cast<size_t>(n));
    }
    read_ = n == 0;  // retried after a failure
    if (read_) devices_ = DevicesIn(text);
  }

  Mutex mutex_;
  Fd table_ CTXFS_GUARDED_BY(mutex_) = Fd(-1);
  std::set<dev_t> devices_ CTXFS_GUARDED_BY(mutex_);
  std::set<dev_t> permitted_ CTXFS_GUARDED_BY(mutex_);
  bool read_ CTXFS_GUARDED_BY(mutex_) = false;
};

}  // namespace

Status MountGuard::Start() {
  Fd table(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!table.ok()) return IoError("/proc/self/mountinfo cannot be opened");
  Guard::Instance().Start(std::move(table));
  return {};
}

void MountGuard::Stop() { Guard::Instance().Start(Fd(-1)); }

bool MountGuard::started() { return Guard::Instance().started; }

void MountGuard::Permit(dev_t device) { Guard::Instance().Permit(device); }

bool MountGuard::Forbids(dev_t device) {
  // A FUSE file system is on no disk, so its device has major number 0.
  return started() && ::major(device) == 0 && Guard::Instance().Forbids(device);
}

}  // namespace ctxfs
