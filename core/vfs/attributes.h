// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "core/io/identity.h"

namespace ctxfs {

using Inode = uint64_t;

constexpr Inode kRootInode = 1;  // of a mount

/// How long the kernel may believe what it is told.
enum class Lifetime : uint8_t {
  kForever,  // a container's: it is another inode when the container is another
  kMoment,   // a mirrored directory's: it may change
  kNone,     // may be different each time it is asked for
};

/// Whose a file is, and what its owner lets others do with it.
struct Permissions {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t bits = 0;  // of 0444, or 0555 for a directory
};

/// What stat tells of a file or a directory.
struct Attributes {
  bool directory = false;
  bool locked = false;  // cannot be read for want of a key
  uint64_t size = 0;    // bytes; 0 for a directory
  FileTime mtime = {};
  Lifetime lifetime = Lifetime::kForever;
  /// Those of the file that it is made from; nothing for what is the mount's.
  std::optional<Permissions> permissions = std::nullopt;
  bool link = false;   // a symbolic one; `size` is that of its target
  uint32_t names = 1;  // of the file: hard links
};

}  // namespace ctxfs
