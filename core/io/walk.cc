// SPDX-License-Identifier: Apache-2.0
#include "core/io/walk.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/io/io_error.h"
#include "core/io/mount_guard.h"

namespace ctxfs {
namespace {

constexpr int kFound = O_PATH | O_CLOEXEC;

Error CannotFind(int number) { return SystemError("cannot be found", number); }

struct About {
  dev_t device;
  mode_t mode;
};

/// Examines `fd` without a request to its file system: FUSE answers
/// AT_STATX_DONT_SYNC from the kernel's cache.
Result<About> Examine(int fd) {
  struct statx st {};
  constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(fd, "", kFlags, STATX_TYPE, &st) != 0) return CannotFind(errno);
  return About{::makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_mode};
}

/// Returns whether single steps may succeed where openat2 failed.
bool MayContinue(int number) {
  return number == EXDEV || number == EAGAIN || number == ENOSYS ||
         number == EPERM;
}

/// Finds `path`, which is absolute or relative to `base`, if the way to it
/// stays in one file system.
Result<Fd> FindInOneFileSystem(int base, const char* path, int flags,
                               uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<decltype(how.flags)>(kFound | flags);
  how.resolve = resolve | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;
  const auto fd =
      static_cast<int>(::syscall(SYS_openat2, base, path, &how, sizeof(how)));
  if (fd < 0) return CannotFind(errno);
  return Fd(fd);
}

/// A walk along a path. The kernel walks within one file system; mount points
/// are crossed in single steps, so that each can be refused before anything
/// behind it is looked up.
class Walker {
 public:
  enum class Mode : uint8_t { kGuard, kPermit };
  enum class Links : uint8_t { kFollowed, kRefused };

  Walker(std::string path, int flags, bool below, Mode mode,
         Links links = Links::kFollowed)
      : rest_(std::move(path)),
        flags_(flags),
        below_(below),
        mode_(mode),
        links_(links) {}

  Result<Fd> Walk(Fd base) {
    const About about = CTXFS_TRY(Examine(base.get()));
    line_.push_back({std::move(base), about.device});
    bool crossed = true;
    while (true) {
      if (crossed && mode_ == Mode::kGuard) {
        Result<Fd> found = WalkOneFileSystem();
        if (found || !MayContinue(found.error().sys_errno)) return found;
      }
      const std::string name = NextName();
      if (name.empty()) return std::move(line_.back().fd);
      crossed = CTXFS_TRY(name == ".." ? StepUp() : Step(name));
    }
  }

 private:
  struct Directory {
    Fd fd;
    dev_t device;
  };

  /// Walks the rest at once, unless it crosses a mount point.
  Result<Fd> WalkOneFileSystem() const {
    const size_t from = rest_.find_first_not_of('/');
    if (from == std::string::npos) return CannotFind(EXDEV);
    const uint64_t resolve =
        (below_ ? RESOLVE_BENEATH : 0U) |
        (links_ == Links::kRefused ? RESOLVE_NO_SYMLINKS : 0U);
    return FindInOneFileSystem(line_.back().fd.get(), rest_.c_str() + from,
                               flags_, resolve);
  }

  /// Removes and returns the next component; empty at the end.
  std::string NextName() {
    std::string name;
    do {
      const size_t from = std::min(rest_.find_first_not_of('/'), rest_.size());
      const size_t to = std::min(rest_.find('/', from), rest_.size());
      name = rest_.substr(from, to - from);
      rest_.erase(0, to);
    } while (name == ".");
    return name;
  }

  /// Goes to the parent directory, which was entered on the way down. At the
  /// start of the walk, stays at the root, or fails if the walk is `below_`.
  Result<bool> StepUp() {
    if (line_.size() > 1) {
      line_.pop_back();
    } else if (below_) {
      return CannotFind(EXDEV);
    }
    return false;
  }

  /// Enters `name`, or prepends the target of a link to the rest; returns
  /// whether another file system was entered.
  Result<bool> Step(const std::string& name) {
    const bool last = rest_.empty();  // before a "/" it is a directory's name
    const bool directory = !last || (flags_ & O_DIRECTORY) != 0;
    const int here = line_.back().fd.get();
    // O_DIRECTORY triggers automounts.
    Fd fd(::openat(here, name.c_str(),
                   kFound | O_NOFOLLOW | (directory ? O_DIRECTORY : 0)));
    const bool other = !fd.ok() && errno == ENOTDIR && directory;
    if (other) fd = Fd(::openat(here, name.c_str(), kFound | O_NOFOLLOW));
    if (!fd.ok()) return CannotFind(errno);
    const About about = CTXFS_TRY(Examine(fd.get()));
    const bool crosses = about.device != line_.back().device;
    if (crosses && mode_ == Mode::kPermit) MountGuard::Permit(about.device);
    if (crosses && MountGuard::Forbids(about.device)) return CannotFind(EXDEV);
    const bool link = S_ISLNK(about.mode);
    if (link && links_ == Links::kRefused && !last) return CannotFind(ELOOP);
    if (link && (!last || (flags_ & O_NOFOLLOW) == 0)) return Follow(fd);
    if (other) return CannotFind(ENOTDIR);
    line_.push_back({std::move(fd), about.device});
    return crosses;
  }

  Result<bool> Follow(const Fd& link) {
    constexpr unsigned kMaxLinks = 40;  // as in the kernel
    if (++followed_ > kMaxLinks) return CannotFind(ELOOP);
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(link.get(), "", target, sizeof(target));
    if (size < 0) return CannotFind(errno);
    rest_.insert(0, target, static_cast<size_t>(size));  // rest_: "" or "/..."
    if (rest_.starts_with('/')) {
      if (below_) return CannotFind(EXDEV);
      line_.erase(line_.begin() + 1, line_.end());
    }
    return true;  // the kernel may continue from here
  }

  std::vector<Directory> line_;  // from the base to the current directory
  std::string rest_;
  const int flags_;
  const bool below_;
  const Mode mode_;
  const Links links_;
  unsigned followed_ = 0;
};

Result<Fd> WalkFromRoot(const std::string& path, int flags, Walker::Mode mode,
                        Walker::Links links = Walker::Links::kFollowed) {
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(path, failed);
  if (failed) return CannotFind(failed.value());
  Fd root(::open("/", kFound | O_DIRECTORY));
  if (!root.ok()) return CannotFind(errno);
  return Walker(std::move(absolute), flags, /*below=*/false, mode, links)
      .Walk(std::move(root));
}

}  // namespace

Result<Fd> FindPath(const std::string& path, int flags) {
  if (MountGuard::started()) {
    // One call mostly suffices; a walk from the root takes three calls more.
    if (path.starts_with('/')) {
      Result<Fd> found = FindInOneFileSystem(AT_FDCWD, path.c_str(), flags, 0);
      if (found || !MayContinue(found.error().sys_errno)) return found;
    }
    return WalkFromRoot(path, flags, Walker::Mode::kGuard);
  }
  Fd fd(::open(path.c_str(), kFound | flags));
  if (!fd.ok()) return CannotFind(errno);
  return fd;
}

Result<struct stat> StatPath(const std::string& path) {
  struct stat st {};
  if (MountGuard::started()) {
    const Fd found = CTXFS_TRY(FindPath(path));
    if (::fstat(found.get(), &st) != 0) return CannotFind(errno);
  } else if (::stat(path.c_str(), &st) != 0) {
    return CannotFind(errno);
  }
  return st;
}

Result<Fd> FindWithoutLinks(const std::string& path) {
  return WalkFromRoot(path, O_NOFOLLOW, Walker::Mode::kGuard,
                      Walker::Links::kRefused);
}

Result<Fd> FindBeneath(const std::string& directory, const std::string& path,
                       int flags) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kNotFound, "is no file's name"};
  }
  Fd base = CTXFS_TRY(FindPath(directory, O_DIRECTORY));
  const Error outside{Code::kCorrupt, "leads out of the directory"};
  if (path.starts_with('/')) return outside;
  Walker walker(path, flags, /*below=*/true, Walker::Mode::kGuard);
  Result<Fd> found = walker.Walk(std::move(base));
  if (found) return found;
  const int number = found.error().sys_errno;
  if (number == EXDEV) return outside;
  if (number == ENOENT || number == ENOTDIR) {
    return Error{Code::kNotFound, "there is no such file"};
  }
  return found;
}

Status PermitPath(const std::string& path) {
  const Result<Fd> found = WalkFromRoot(path, 0, Walker::Mode::kPermit);
  return found ? Status() : Status(found.error());
}

}  // namespace ctxfs
