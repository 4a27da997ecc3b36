// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// The directory that is mounted on. One that this class created it removes
/// again.
class MountPoint {
 public:
  /// Unmounts all mounts at `path` whose daemons are dead, and creates the
  /// directory if it does not exist. Fails with kIo if `path` is not a
  /// directory afterwards or, without `nonempty`, if the mount would hide files
  /// or another mount of ctxfs.
  static Result<MountPoint> Prepare(const std::string& path, bool nonempty);

  MountPoint(MountPoint&& other) noexcept;
  MountPoint& operator=(MountPoint&&) = delete;
  ~MountPoint();

  /// Creates the directory again if it is gone; returns whether it was. A
  /// daemon removes what it has created only after its mount has ended, and by
  /// then the next mount may have begun.
  bool Restore();

  /// Absolute, because the daemon changes its working directory.
  const std::string& path() const { return path_; }

 private:
  /// Like Prepare; ENOENT: the directory was removed concurrently.
  static Result<MountPoint> PrepareOnce(const std::string& path, bool nonempty);

  MountPoint(std::string path, bool made)
      : path_(std::move(path)), made_(made) {}

  std::string path_;
  bool made_;
};

/// Returns a name in the current directory that does not exist yet, for a mount
/// of `source`: its own without the suffix, with "-1", "-2", ... if that
/// exists. Fails with kIo if the first thousand do.
Result<std::string> NewMountPoint(const std::string& source);

/// Unmounts the topmost mount at `path`, as fusermount3 does; with `lazy` even
/// if it is in use. Returns 0 or a positive errno.
int Unmount(const std::string& path, bool lazy);

/// Sets the read-ahead of the filesystem mounted at `path`; only root may.
Status SetReadahead(const std::string& path, uint64_t bytes);

}  // namespace ctxfs
