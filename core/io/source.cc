// SPDX-License-Identifier: Apache-2.0
#include "core/io/source.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace ctxfs {
namespace {

// Non-blocking, so that a fifo of that name cannot hold us up.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t MtimeNs(const struct stat& st) {
  return st.st_mtim.tv_sec * kNsPerSecond + st.st_mtim.tv_nsec;
}

Error IoError(const std::string& what, uint64_t offset = kNoOffset) {
  return {Code::kIo, what + ": " + std::strerror(errno), offset};
}

}  // namespace

Result<std::shared_ptr<const Source>> Source::OpenBeside(
    const std::string& /*path*/) const {
  return Error{Code::kNotFound, "there are no files beside this one"};
}

Result<std::shared_ptr<const FileSource>> FileSource::Open(
    const std::string& path) {
  const int fd = ::open(path.c_str(), kOpenFlags);
  if (fd < 0) return IoError("cannot be opened");
  return Adopt(path, fd);
}

Result<std::shared_ptr<const Source>> FileSource::OpenBeside(
    const std::string& path) const {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kNotFound, "is no file's name"};
  }
  const std::string directory = path_.substr(0, path_.rfind('/') + 1);
  const int at = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return IoError("its directory cannot be opened");
  struct open_how how {};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const auto fd = static_cast<int>(
      ::syscall(SYS_openat2, at, path.c_str(), &how, sizeof(how)));
  const int error = errno;
  ::close(at);
  errno = error;
  if (fd < 0 && (error == ENOENT || error == ENOTDIR)) {
    return Error{Code::kNotFound, "there is no such file"};
  }
  if (fd < 0 && error == EXDEV) {
    return Error{Code::kCorrupt, "leads out of the directory"};
  }
  if (fd < 0) return IoError("cannot be opened");
  Result<std::shared_ptr<const FileSource>> source =
      Adopt(directory + path, fd);
  if (!source) return std::move(source).error();
  return std::shared_ptr<const Source>(std::move(*source));
}

Result<std::shared_ptr<const FileSource>> FileSource::Adopt(
    const std::string& path, int fd) {
  std::shared_ptr<FileSource> source(new FileSource(path, fd));
  struct stat st {};
  if (::fstat(fd, &st) != 0) return IoError("cannot be examined");
  if (S_ISDIR(st.st_mode)) return Error{Code::kIo, "is a directory"};
  if (!S_ISREG(st.st_mode)) return Error{Code::kIo, "is not a regular file"};
  char absolute[PATH_MAX];
  if (::realpath(path.c_str(), absolute) == nullptr) {
    return IoError("has no absolute path");
  }
  source->path_ = absolute;
  source->device_ = st.st_dev;
  source->inode_ = st.st_ino;
  source->size_ = static_cast<uint64_t>(st.st_size);
  source->mtime_ns_ = MtimeNs(st);
  return std::shared_ptr<const FileSource>(std::move(source));
}

FileSource::~FileSource() { ::close(fd_); }

Status FileSource::ReadAt(uint64_t offset, MutableBytes out) const {
  if (!InBounds(offset, out.size(), size_)) {
    return Error{Code::kCorrupt, "read past the end", offset};
  }
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IoError("cannot be read", offset + done);
    if (n == 0) {
      changed_.store(true, std::memory_order_relaxed);
      break;  // it was longer when it was opened
    }
    done += static_cast<size_t>(n);
  }
  bytes_read_.fetch_add(done, std::memory_order_relaxed);
  return CheckUnchanged();
}

Status FileSource::CheckUnchanged() const {
  struct stat st {};
  if (::fstat(fd_, &st) != 0) return IoError("cannot be examined");
  if (static_cast<uint64_t>(st.st_size) != size_ || MtimeNs(st) != mtime_ns_) {
    changed_.store(true, std::memory_order_relaxed);
  }
  // A name that is gone or out of reach replaces nothing: the bytes are still
  // those that were opened.
  if (::stat(path_.c_str(), &st) == 0 &&
      (st.st_dev != device_ || st.st_ino != inode_)) {
    changed_.store(true, std::memory_order_relaxed);
  }
  if (changed_.load(std::memory_order_relaxed)) {
    return Error{Code::kStale, "the container changed under the mount"};
  }
  return {};
}

Status MemorySource::ReadAt(uint64_t offset, MutableBytes out) const {
  if (!InBounds(offset, out.size(), bytes_.size())) {
    return Error{Code::kCorrupt, "read past the end", offset};
  }
  if (!out.empty()) {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }
  return {};
}

Result<Buffer> ReadBuffer(const Source& source, uint64_t offset,
                          uint64_t length, const char* what) {
  if (!InBounds(offset, length, source.size())) {
    return Error{Code::kCorrupt,
                 std::string(what) + " of " + std::to_string(length) +
                     " bytes does not fit in the container's " +
                     std::to_string(source.size()),
                 offset};
  }
  Buffer buffer(static_cast<size_t>(length));
  if (Status read = source.ReadAt(offset, buffer.span()); !read) {
    return std::move(read).error();
  }
  return buffer;
}

}  // namespace ctxfs
