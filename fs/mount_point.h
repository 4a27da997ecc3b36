// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// The directory a mount is put on: made if it is not there, and then removed
/// again; cleaned of a dead daemon's mount first.
class MountPoint {
 public:
  /// Fails when `path` is not, and cannot be made, a directory.
  static Result<MountPoint> Prepare(const std::string& path);

  MountPoint(MountPoint&& other) noexcept;
  MountPoint& operator=(MountPoint&&) = delete;
  ~MountPoint();

  /// Absolute: the daemon changes its directory.
  const std::string& path() const { return path_; }

 private:
  MountPoint(std::string path, bool made)
      : path_(std::move(path)), made_(made) {}

  std::string path_;
  bool made_;
};

/// Takes away whatever is mounted at `path`, as fusermount3 does. `lazy` also
/// when it is in use. Returns 0 or a positive errno.
int Unmount(const std::string& path, bool lazy);

/// Sets the read-ahead of the filesystem mounted at `path`; only root may.
Status SetReadahead(const std::string& path, uint64_t bytes);

}  // namespace ctxfs
