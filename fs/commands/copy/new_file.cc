// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/copy/new_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "core/content/read_through.h"
#include "core/io/io_error.h"
#include "core/io/transfer.h"

namespace ctxfs {
namespace {

constexpr const char* kCannotWrite = "cannot write";

std::string TemporaryName() {
  uint64_t number = 0;
  (void)!::getrandom(&number, sizeof(number), 0);
  char name[40];
  std::snprintf(name, sizeof(name), ".ctxfs-%016" PRIx64 ".part", number);
  return name;
}

/// Renames within a directory; fails if `to` exists.
bool RenameToFreeName(int directory, const char* from, const char* to) {
  if (::syscall(SYS_renameat2, directory, from, directory, to,
                RENAME_NOREPLACE) == 0) {
    return true;
  }
  // NFS, among others, lacks RENAME_NOREPLACE. Hard links do not replace files
  // either.
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::linkat(directory, from, directory, to, 0) == 0 &&
         ::unlinkat(directory, from, 0) == 0;
}

}  // namespace

Status WriteAll(int fd, Bytes bytes, const std::string& what) {
  const Transferred wrote = WriteSome(fd, bytes);
  if (wrote.bytes == bytes.size()) return {};
  if (!wrote.failed) errno = EIO;
  return IoError(what);
}

Result<NewFile> NewFile::Create(DirectoryFd directory) {
  constexpr mode_t kMode = 0666;  // reduced by the umask
  std::string name = TemporaryName();
  const int fd = ::openat(directory->get(), name.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  if (fd < 0) return IoError(kCannotWrite);
  return NewFile(std::move(directory), std::move(name), fd);
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) {
    ::unlinkat(directory_->get(), temporary_.c_str(), 0);
  }
}

NewFile::NewFile(NewFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

Status NewFile::Commit(const std::string& name, bool replace) {
  // Some file systems report a full disk only at fsync, NFS only at close.
  if (::fsync(fd_) != 0) return IoError(kCannotWrite);
  if (::close(std::exchange(fd_, -1)) != 0) return IoError(kCannotWrite);
  const int directory = directory_->get();
  const bool renamed =
      replace ? ::renameat(directory, temporary_.c_str(), directory,
                           name.c_str()) == 0
              : RenameToFreeName(directory, temporary_.c_str(), name.c_str());
  if (!renamed) return IoError(kCannotWrite);
  temporary_.clear();
  return {};
}

namespace {

/// Creates the link `name` by calling `make`. To replace a file, creates the
/// link under a temporary name and renames it.
template <typename Make>
Result<bool> MakeAndReplace(const Fd& directory, const std::string& name,
                            bool replace, const Make& make) {
  if (make(name)) return true;
  if (errno != EEXIST || !replace) return IoError(kCannotWrite);
  const std::string temporary = TemporaryName();
  if (!make(temporary)) return IoError(kCannotWrite);
  const bool renamed = ::renameat(directory.get(), temporary.c_str(),
                                  directory.get(), name.c_str()) == 0;
  Result<bool> done = renamed ? Result<bool>(true) : IoError(kCannotWrite);
  // A rename between two names of one file does nothing and leaves both names.
  ::unlinkat(directory.get(), temporary.c_str(), 0);
  return done;
}

bool IsSame(const NameIn& a, const NameIn& b) {
  struct stat one {};
  struct stat other {};
  return ::fstatat(a.directory.get(), a.name.c_str(), &one,
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstatat(b.directory.get(), b.name.c_str(), &other,
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool LeadsTo(const Fd& directory, const std::string& name,
             const std::string& target) {
  std::string found(target.size() + 1, '\0');
  const ssize_t size =
      ::readlinkat(directory.get(), name.c_str(), found.data(), found.size());
  return size == static_cast<ssize_t>(target.size()) &&
         found.starts_with(target);
}

}  // namespace

Status WriteFile(const Content& content, const ReadContext& context,
                 DirectoryFd directory, const std::string& name, bool replace,
                 const std::function<Status(uint64_t bytes)>& proceed) {
  CTXFS_TRY(content.Verify(context));
  NewFile out = CTXFS_TRY(NewFile::Create(std::move(directory)));
  CTXFS_TRY(ReadThrough(content, context, [&](Bytes piece) -> Status {
    if (proceed != nullptr) CTXFS_TRY(proceed(piece.size()));
    return out.Write(piece);
  }));
  CTXFS_TRY(out.Commit(name, replace));
  content.MarkConsumed(context);
  return {};
}

Result<bool> MakeSymlink(const Fd& directory, const std::string& target,
                         const std::string& name, bool replace) {
  if (LeadsTo(directory, name, target)) return false;
  return MakeAndReplace(directory, name, replace, [&](const std::string& at) {
    return ::symlinkat(target.c_str(), directory.get(), at.c_str()) == 0;
  });
}

Result<bool> MakeHardLink(const NameIn& from, const NameIn& to, bool replace) {
  if (IsSame(from, to)) return false;
  return MakeAndReplace(
      to.directory, to.name, replace, [&](const std::string& at) {
        return ::linkat(from.directory.get(), from.name.c_str(),
                        to.directory.get(), at.c_str(), 0) == 0;
      });
}

}  // namespace ctxfs
