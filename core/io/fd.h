// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace ctxfs {

/// A file descriptor, or none (negative); closed at the end.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;

  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }

  /// A path to open the same thing by, whatever becomes of its name.
  std::string proc_path() const {
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

}  // namespace ctxfs
