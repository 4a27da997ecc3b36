// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>

namespace ctxfs {

/// A file system's time. It has two numbers, because a count of nanoseconds in
/// 64 bits ends in 2262, and ext4 and XFS have later times. It must have no
/// padding, because its bytes are hashed.
struct FileTime {
  int64_t seconds = 0;      // since 1970; negative before
  int64_t nanoseconds = 0;  // of the second, below 10^9

  auto operator<=>(const FileTime&) const = default;

  static FileTime Of(const struct timespec& time) {
    return {time.tv_sec, time.tv_nsec};
  }
};

/// Identifies a file and its bytes: while no member changes, the bytes are
/// taken to be the same. mtime can be set to any value, and an inode number is
/// reused after a file is removed; ctime changes in both cases.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // bytes
  FileTime mtime;
  FileTime ctime;

  bool operator==(const FileIdentity&) const = default;

  /// Returns whether all but ctime is equal: chmod, rename and link change only
  /// ctime, but so does a write that sets mtime back afterwards.
  bool EqualButForCtime(const FileIdentity& other) const {
    return SameFile(other) && size == other.size && mtime == other.mtime;
  }

  /// Returns whether it is the same file, regardless of its bytes.
  bool SameFile(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }

  static FileIdentity Of(const struct stat& st) {
    return {st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
            FileTime::Of(st.st_mtim), FileTime::Of(st.st_ctim)};
  }
};

}  // namespace ctxfs
