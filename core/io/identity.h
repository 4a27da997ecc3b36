// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>

namespace ctxfs {

/// A time of a file system: a count of nanoseconds in 64 bits ends in 2262, and
/// ext4 and XFS have times beyond that. Without padding: its bytes are hashed.
struct FileTime {
  int64_t seconds = 0;      // since 1970; negative before
  int64_t nanoseconds = 0;  // of the second, below 10^9

  auto operator<=>(const FileTime&) const = default;

  static FileTime Of(const struct timespec& time) {
    return {time.tv_sec, time.tv_nsec};
  }
};

/// What identifies a file and its bytes: while none of this changes, the bytes
/// are taken to be the same. mtime can be set to any value, and an inode number
/// is given to another file after the first one is removed; ctime shows both.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // bytes
  FileTime mtime;
  FileTime ctime;

  bool operator==(const FileIdentity&) const = default;

  /// Returns whether only ctime may differ: chmod, rename and link change it
  /// alone, but so does a write after which mtime is set back.
  bool EqualButForCtime(const FileIdentity& other) const {
    return SameFile(other) && size == other.size && mtime == other.mtime;
  }

  /// Returns whether it is the same file, whatever its bytes are now.
  bool SameFile(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }

  static FileIdentity Of(const struct stat& st) {
    return {st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
            FileTime::Of(st.st_mtim), FileTime::Of(st.st_ctim)};
  }
};

}  // namespace ctxfs
