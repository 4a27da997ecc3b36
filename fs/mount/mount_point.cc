// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/mount_point.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/text/text.h"
#include "core/io/io_error.h"
#include "fs/common/mount_table.h"

namespace ctxfs {
namespace {

Error Unusable(const std::string& path, const std::string& why) {
  return {Code::kIo, "mount point " + Quote(path) + ": " + why};
}

/// Like Unusable, with the errno `failed`. ENOENT: the directory was removed
/// concurrently.
Error Vanished(const std::string& path, const std::string& why, int failed) {
  Error error = Unusable(path, why + std::strerror(failed));
  error.sys_errno = failed;
  return error;
}

/// Stats `path`. Returns 0 or an errno.
int Examine(const std::string& path, struct stat* st) {
  if (::stat(path.c_str(), st) != 0) return errno;
  // The kernel may have cached the attributes of a dead mount; statvfs always
  // reaches the daemon.
  struct statvfs about {};
  return ::statvfs(path.c_str(), &about) == 0 ? 0 : errno;
}

/// Whether an errno means that the daemon of a mount is dead.
bool IsDead(int failed) { return failed == ENOTCONN || failed == ECONNABORTED; }

/// Whether the topmost mount at `path`, if any, is one of ctxfs.
bool HasMountOfOurs(const std::string& path) {
  bool ours = false;
  for (const MountEntry& mount : MountTable()) {
    if (mount.point == path) ours = mount.type == kMountType;
  }
  return ours;
}

/// Fails if a mount on the directory `path` would hide files or another mount
/// of ctxfs. `absolute` is `path` without symbolic links.
Status HidesNothing(const std::string& path, const std::string& absolute) {
  if (HasMountOfOurs(absolute)) {
    return Unusable(
        path,
        "already has a ctxfs mount; unmount it, or hide it with -o nonempty");
  }
  std::error_code failed;
  const bool empty = std::filesystem::is_empty(path, failed);
  if (failed) return Vanished(path, "cannot be listed: ", failed.value());
  if (empty) return {};
  return Unusable(path,
                  "is not empty; hide its files with -o nonempty, or choose "
                  "another directory");
}

}  // namespace

Result<MountPoint> MountPoint::Prepare(const std::string& path, bool nonempty) {
  // The daemon of an earlier mount may remove the directory that it created at
  // any moment.
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    Result<MountPoint> prepared = PrepareOnce(path, nonempty);
    const bool again =
        !prepared && prepared.error().sys_errno == ENOENT && i < kTries;
    if (!again) return prepared;
  }
}

Result<MountPoint> MountPoint::PrepareOnce(const std::string& path,
                                           bool nonempty) {
  struct stat st {};
  int failed = Examine(path, &st);
  // Dead mounts may be stacked.
  while (IsDead(failed) && Unmount(path, /*lazy=*/true) == 0) {
    failed = Examine(path, &st);
  }
  bool made = false;
  if (failed == ENOENT) {
    if (::mkdir(path.c_str(), 0755) != 0) {
      return Unusable(path, std::string("cannot create the directory: ") +
                                std::strerror(errno));
    }
    made = true;
  } else if (failed != 0) {
    return Unusable(path, (IsDead(failed) ? "cannot unmount a dead mount: "
                                          : std::string()) +
                              std::strerror(failed));
  } else if (!S_ISDIR(st.st_mode)) {
    return Unusable(path, "not a directory");
  }
  char absolute[PATH_MAX];
  if (::realpath(path.c_str(), absolute) == nullptr) {
    return Vanished(path, "", errno);
  }
  if (!made && !nonempty) CTXFS_TRY(HidesNothing(path, absolute));
  return MountPoint(absolute, made);
}

MountPoint::MountPoint(MountPoint&& other) noexcept
    : path_(std::move(other.path_)), made_(other.made_) {
  other.made_ = false;
}

bool MountPoint::Restore() {
  const bool gone = ::mkdir(path_.c_str(), 0755) == 0;
  made_ = made_ || gone;
  return gone;
}

MountPoint::~MountPoint() {
  if (made_) (void)::rmdir(path_.c_str());
}

Result<std::string> NewMountPoint(const std::string& source) {
  constexpr int kMaxTries = 1000;
  std::error_code failed;
  // Makes the path absolute, because "." and "dir/.." have no name of their
  // own.
  std::string absolute =
      std::filesystem::absolute(source, failed).lexically_normal().string();
  while (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  std::string name = absolute.substr(absolute.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot != 0 && dot != std::string::npos) name.resize(dot);
  if (failed || name.empty()) name = "ctxfs";
  for (int i = 0; i < kMaxTries; ++i) {
    // Begins with "./", because the name may begin with a dash.
    std::string free = "./" + name + (i == 0 ? "" : fmt::format("-{}", i));
    struct stat st {};
    if (::lstat(free.c_str(), &st) != 0 && errno == ENOENT) return free;
  }
  return Unusable("./" + name, "exists, as do a thousand variants of it");
}

int Unmount(const std::string& path, bool lazy) {
  const int flags = UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0);
  if (::umount2(path.c_str(), flags) == 0) return 0;
  if (errno != EPERM) return errno;
  // This process is not root. fusermount3, which is set-uid, may have the
  // right.
  const char* argv[] = {"fusermount3", "-u",         lazy ? "-z" : "-q",
                        "--",          path.c_str(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv[0], nullptr, nullptr,
                                    const_cast<char* const*>(argv), environ);
  if (failed != 0) return failed;
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return errno;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EPERM;
}

Status SetReadahead(const std::string& path, uint64_t bytes) {
  // AT_STATX_DONT_SYNC sends no request to the mount, which is not served yet.
  struct statx st {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, 0, &st) != 0) {
    return Error{Code::kIo, std::strerror(errno)};
  }
  const std::string knob = fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb",
                                       st.stx_dev_major, st.stx_dev_minor);
  std::ofstream file(knob);
  file << bytes / 1024 << std::flush;
  if (file) return {};
  return IoError("cannot write " + knob);
}

}  // namespace ctxfs
