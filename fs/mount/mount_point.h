// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// The directory that is mounted on. The destructor removes the directory if
/// this class created it.
class MountPoint {
 public:
  /// Unmounts dead mounts at `path`, and creates the directory if it does not
  /// exist. Fails with kIo if either fails, if `path` is not a directory, or if
  /// the mount, without `nonempty`, would hide files or another mount of ctxfs.
  static Result<MountPoint> Prepare(const std::string& path, bool nonempty);

  MountPoint(MountPoint&& other) noexcept;
  MountPoint& operator=(MountPoint&&) = delete;
  ~MountPoint();

  /// Creates the directory again if it is gone; returns whether it was. The
  /// daemon of an earlier mount, if it created the directory, removes it after
  /// unmounting. By then the next mount may already have begun.
  bool Restore();

  /// The path is absolute, because the daemon changes its working directory.
  const std::string& path() const { return path_; }

 private:
  /// Like Prepare, but fails with the errno ENOENT if the directory is removed
  /// concurrently.
  static Result<MountPoint> PrepareOnce(const std::string& path, bool nonempty);

  MountPoint(std::string path, bool made)
      : path_(std::move(path)), made_(made) {}

  std::string path_;
  bool made_;
};

/// Returns an unused name in the current directory for a mount of `source`: the
/// name of `source` without suffix, with "-1", "-2", ... if that exists. Fails
/// with kIo after a thousand names.
Result<std::string> NewMountPoint(const std::string& source);

/// Unmounts the topmost mount at `path`; with `lazy` even while it is in use.
/// Runs fusermount3 if this process lacks the right. Returns 0 or a positive
/// errno: EPERM if fusermount3 fails.
int Unmount(const std::string& path, bool lazy);

/// Sets the read-ahead of the filesystem mounted at `path`. Requires root.
Status SetReadahead(const std::string& path, uint64_t bytes);

}  // namespace ctxfs
