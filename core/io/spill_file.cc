// SPDX-License-Identifier: Apache-2.0
#include "core/io/spill_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/text/text.h"
#include "core/io/io_error.h"
#include "core/io/transfer.h"

namespace ctxfs {
namespace {

/// Opens a new unnamed file. Where the file system does not support O_TMPFILE,
/// creates a named file and unlinks it.
int OpenUnlinked(const std::string& directory, int more_flags) {
  const int fd = ::open(directory.c_str(),
                        O_TMPFILE | O_RDWR | O_CLOEXEC | more_flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) {
    return fd;
  }
  std::string path = directory + "/ctxfs-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

Error Failure(const std::string& what) {
  const int failed = errno;
  return {Code::kIo, what + ": " + std::strerror(failed), kNoOffset, failed};
}

/// Reserves a range of a file on the disk. Returns 0 or an errno: ENOSPC if the
/// disk, the user's quota or the file would be too small, and 0 also if the
/// file system cannot reserve.
int Allocate(int fd, uint64_t offset, uint64_t size) {
  int failed = 0;
  do {
    failed = ::fallocate(fd, 0, static_cast<off_t>(offset),
                         static_cast<off_t>(size)) == 0
                 ? 0
                 : errno;
  } while (failed == EINTR);
  if (failed == EDQUOT || failed == EFBIG) return ENOSPC;
  return failed == EOPNOTSUPP || failed == ENOSYS ? 0 : failed;
}

/// Free bytes on the disk of a file; UINT64_MAX if unknown.
uint64_t FreeOn(const Fd& file) {
  struct statvfs disk {};
  if (::fstatvfs(file.get(), &disk) != 0) return UINT64_MAX;
  return CheckedMul(disk.f_bavail, disk.f_frsize).value_or(UINT64_MAX);
}

/// The largest size of a file. A write past it would raise SIGXFSZ, which ends
/// the process.
uint64_t LargestFile() {
  rlimit limit{};
  const bool bounded =
      ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return bounded ? limit.rlim_cur : INT64_MAX;
}

}  // namespace

Result<std::shared_ptr<SpillFile>> SpillFile::Make(const std::string& directory,
                                                   uint64_t most) {
  Fd fd(OpenUnlinked(directory, O_EXCL));
  if (!fd.ok()) {
    return Failure("cannot make a temporary file in " + Quote(directory));
  }
  return std::make_shared<SpillFile>(std::move(fd), directory,
                                     std::min(most, LargestFile()));
}

std::shared_ptr<SpillFile> SpillFile::OfFiles(const std::string& directory,
                                              uint64_t most, FileMaker& maker) {
  auto files = std::make_shared<SpillFile>(Fd(-1), directory,
                                           std::min(most, LargestFile()));
  files->MakeFilesBy(maker);
  return files;
}

Error SpillFile::Full(uint64_t size) const {
  return {Code::kIo,
          fmt::format("needs {} bytes of temporary files in {}, of which there "
                      "may be {} (see -o cache_dir_size)",
                      size, Quote(directory_), most_),
          kNoOffset, ENOSPC};
}

Error SpillFile::DiskFull(uint64_t size) const {
  return {Code::kIo,
          fmt::format("needs {} bytes of temporary files in {}, whose disk has "
                      "fewer (see -o cache_dir)",
                      size, Quote(directory_)),
          kNoOffset, ENOSPC};
}

uint64_t SpillFile::Free() const { return FreeOn(fd_); }

Status SpillFile::CouldHold(uint64_t size) const {
  if (size > most_) return Full(size);
  const uint64_t free = Free();
  const uint64_t reserved = bytes();
  if (size > free && size - free > reserved) return DiskFull(size);
  return {};
}

uint64_t SpillFile::Take(uint64_t size) {
  const MutexLock lock(mutex_);
  if (size > most_ || bytes_ > most_ - size) return UINT64_MAX;
  uint64_t offset = 0;
  for (const auto& [taken, length] : parts_) {
    if (taken - offset >= size) break;
    offset = taken + length;
  }
  // The range may end past the largest file even if bytes_ is small, because
  // gaps between parts count, too.
  if (!InBounds(offset, size, LargestFile())) return UINT64_MAX;
  parts_.emplace(offset, size);
  bytes_ += size;
  return offset;
}

void SpillFile::GiveBack(uint64_t offset, uint64_t size) {
  // Punches the hole while the range is still reserved, and without the mutex,
  // because freeing some GiB takes the disk a while. On failure the next part
  // reuses the blocks.
  (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset), static_cast<off_t>(size));
  {
    const MutexLock lock(mutex_);
    parts_.erase(offset);
  }
  Uncount(size);
}

void SpillFile::GiveBackFile(Fd file, uint64_t size) {
  file = Fd(-1);
  Uncount(size);
}

void SpillFile::Uncount(uint64_t size) {
  {
    const MutexLock lock(mutex_);
    bytes_ -= size;
  }
  room_.NotifyAll();
}

Status SpillFile::CountFile(uint64_t size) {
  if (!Descriptors::HaveRoom(1)) return SystemError("no file is made", EMFILE);
  const MutexLock lock(mutex_);
  if (size > most_ || bytes_ > most_ - size) return Full(size);
  bytes_ += size;
  return {};
}

Result<std::shared_ptr<const SpillFile::Part>> SpillFile::ReserveFile(
    uint64_t size) {
  CTXFS_TRY(CountFile(size));
  Result<Fd> made = size > Free() ? DiskFull(size) : maker_->Make(size);
  if (made) {
    return std::make_shared<const Part>(shared_from_this(), std::move(*made),
                                        size);
  }
  Uncount(size);
  return made.error().sys_errno == ENOSPC ? DiskFull(size) : made.error();
}

Result<std::shared_ptr<const SpillFile::Part>> SpillFile::Adopt(Fd& file,
                                                                uint64_t size) {
  CTXFS_TRY(CountFile(size));
  return std::make_shared<const Part>(shared_from_this(), std::move(file),
                                      size);
}

SpillFile::Loan SpillFile::Lend(const std::shared_ptr<const Part>& part,
                                uint64_t most) {
  const MutexLock lock(mutex_);
  if (part->loans_ == 0) {
    if (part->size_ > most || lent_ > most - part->size_) return nullptr;
    lent_ += part->size_;
  }
  ++part->loans_;
  return {part.get(), [part](const Part* of) {
            SpillFile& file = *of->file_;
            {
              const MutexLock lock(file.mutex_);
              if (--of->loans_ == 0) file.lent_ -= of->size_;
            }
            file.room_.NotifyAll();
          }};
}

uint64_t SpillFile::lent() const {
  const MutexLock lock(mutex_);
  return lent_;
}

bool SpillFile::IsLent(const Part& part) const {
  const MutexLock lock(mutex_);
  return part.loans_ > 0;
}

uint64_t SpillFile::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

Result<std::shared_ptr<const SpillFile::Part>> SpillFile::Reserve(
    uint64_t size) {
  if (maker_ != nullptr) {
    auto part = ReserveFile(size);
    if (part || !fd_.ok()) return part;
  }
  const uint64_t offset = Take(size);
  if (offset == UINT64_MAX) return Full(size);
  auto part = std::make_shared<const Part>(shared_from_this(), offset, size);
  // Without this check, reserving would fill the disk before it fails.
  if (size > Free()) return DiskFull(size);
  const int failed = Allocate(fd_.get(), offset, size);
  if (failed == ENOSPC) return DiskFull(size);
  if (failed != 0) {
    errno = failed;
    return Failure("cannot reserve a temporary file in " + Quote(directory_));
  }
  return part;
}

SpillFile::Part::~Part() {
  if (own_.ok()) {
    file_->GiveBackFile(std::move(own_), size_);
  } else {
    file_->GiveBack(offset_, size_);
  }
}

Status SpillFile::Part::Write(uint64_t at, Bytes bytes) const {
  // The seccomp filter allows pwrite for fd_ only.
  const auto write = [&](Bytes left, size_t done) {
    return own_.ok() ? ::write(own_.get(), left.data(), left.size())
                     : ::pwrite(file_->fd_.get(), left.data(), left.size(),
                                static_cast<off_t>(offset_ + at + done));
  };
  const Transferred wrote = Transfer(bytes, write);
  if (wrote.bytes == bytes.size()) return {};
  if (!wrote.failed) errno = EIO;
  return Failure("cannot write a temporary file in " +
                 Quote(file_->directory_));
}

Status SpillFile::Part::Read(uint64_t at, MutableBytes out) const {
  const int from = own_.ok() ? own_.get() : file_->fd_.get();
  const Transferred got = PreadSome(from, offset_ + at, out);
  if (got.bytes == out.size()) return {};
  if (!got.failed) errno = EIO;
  return Failure("cannot read a temporary file in " + Quote(file_->directory_));
}

Result<Fd> MakeUnnamed(const Fd& directory, uint64_t size) {
  const std::string what = "cannot make a temporary file";
  // Without this check, reserving would fill the disk before it fails.
  if (size > FreeOn(directory)) return SystemError(what, ENOSPC);
  Fd made(OpenUnlinked(directory.proc_path(), 0));
  if (!made.ok()) return IoError(what);
  const int failed = Allocate(made.get(), 0, size);
  if (failed == 0 && ::ftruncate(made.get(), static_cast<off_t>(size)) == 0) {
    return made;
  }
  return SystemError(what, failed != 0 ? failed : errno);
}

std::string SpillDirectory() {
  const char* given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/var/tmp";
}

}  // namespace ctxfs
