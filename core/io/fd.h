// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace ctxfs {

/// An owned file descriptor, or none (negative).
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }

  /// Returns the file's current absolute path without links; empty if unknown.
  /// Ends in " (deleted)" if the file was removed.
  std::string real_path() const {
    char path[PATH_MAX];
    const ssize_t size = ::readlink(proc_path().c_str(), path, sizeof(path));
    return {path, size < 0 ? 0 : static_cast<size_t>(size)};
  }

  /// Returns a path that opens the same file, even after a rename or removal.
  std::string proc_path() const {
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

}  // namespace ctxfs
