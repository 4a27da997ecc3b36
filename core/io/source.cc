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

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t MtimeNs(const struct stat& st) {
  return st.st_mtim.tv_sec * kNsPerSecond + st.st_mtim.tv_nsec;
}

Error IoError(const std::string& what, uint64_t offset = kNoOffset) {
  return {Code::kIo, what + ": " + std::strerror(errno), offset};
}

}  // namespace

Result<std::shared_ptr<const FileSource>> FileSource::Open(
    const std::string& path) {
  // Non-blocking, so that a fifo of that name cannot hold us up.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return IoError("cannot be opened");
  return OfDescriptor(fd, path);
}

Result<std::shared_ptr<const FileSource>> FileSource::OfDescriptor(
    int fd, const std::string& path) {
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

Result<std::shared_ptr<const Source>> Source::OpenBeside(
    const std::string& /*relative*/) const {
  return Error{Code::kNotFound, "there is no directory to look in"};
}

Result<std::shared_ptr<const Source>> FileSource::OpenBeside(
    const std::string& relative) const {
  const std::string directory = path_.substr(0, path_.rfind('/') + 1);
  const int at = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return IoError("its directory cannot be opened");
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const auto fd = static_cast<int>(
      ::syscall(SYS_openat2, at, relative.c_str(), &how, sizeof(how)));
  const Error failed = IoError("cannot be opened");
  ::close(at);
  if (fd < 0) return failed;
  Result<std::shared_ptr<const FileSource>> source =
      OfDescriptor(fd, directory + relative);
  if (!source) return std::move(source).error();
  return std::shared_ptr<const Source>(std::move(*source));
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
