// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "core/base/result.h"

namespace ctxfs {

/// A file or directory that was found but not opened for reading (O_PATH):
/// asking what it is disturbs no fifo and no device.
class BeneathFd {
 public:
  explicit BeneathFd(int fd) : fd_(fd) {}
  ~BeneathFd();
  BeneathFd(BeneathFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  BeneathFd& operator=(BeneathFd&&) = delete;

  int get() const { return fd_; }
  /// A path to open the same thing by, whatever becomes of its name.
  std::string proc_path() const {
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

/// What is at `path` in `directory` or below it: kCorrupt for a path that leads
/// out of it, by "..", from the root, or through a link; kNotFound for nothing;
/// kIo otherwise. `flags` are further ones of open(2).
Result<BeneathFd> FindBeneath(const std::string& directory,
                              const std::string& path, int flags);

}  // namespace ctxfs
