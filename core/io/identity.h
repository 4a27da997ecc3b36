// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace ctxfs {

/// What identifies a file and its bytes: while none of this changes, the bytes
/// are taken to be the same. mtime can be set to any value, and an inode number
/// is given to another file after the first one is removed; ctime shows both.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // bytes
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  bool operator==(const FileIdentity&) const = default;

  /// Returns whether only ctime may differ: chmod, rename and link change it
  /// alone, but so does a write after which mtime is set back.
  bool EqualButForCtime(const FileIdentity& other) const {
    return SameFile(other) && size == other.size && mtime_ns == other.mtime_ns;
  }

  /// Returns whether it is the same file, whatever its bytes are now.
  bool SameFile(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }

  static FileIdentity Of(const struct stat& st) {
    return {st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
            Nanoseconds(st.st_mtim), Nanoseconds(st.st_ctim)};
  }

  static int64_t Nanoseconds(const struct timespec& time) {
    constexpr int64_t kPerSecond = 1'000'000'000;
    return time.tv_sec * kPerSecond + time.tv_nsec;
  }
};

}  // namespace ctxfs
