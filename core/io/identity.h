// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace ctxfs {

/// What makes a file the one that it was: as long as none of this changes, its
/// bytes are taken to be the same.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // bytes
  int64_t mtime_ns = 0;

  bool operator==(const FileIdentity&) const = default;

  /// Whether it is the same file, whatever has become of its bytes.
  bool SameFile(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }

  static FileIdentity Of(const struct stat& st) {
    constexpr int64_t kNsPerSecond = 1'000'000'000;
    return {st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
            st.st_mtim.tv_sec * kNsPerSecond + st.st_mtim.tv_nsec};
  }
};

}  // namespace ctxfs
