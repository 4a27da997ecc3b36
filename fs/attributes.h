// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs {

using Inode = uint64_t;

/// How long the kernel may believe what it is told.
enum class Lifetime : uint8_t {
  kForever,  // a container's: it is another inode when the container is another
  kMoment,   // a mirrored directory's: it may change
  kNone,     // may be different each time it is asked for
};

/// What stat tells of a file or a directory.
struct Attributes {
  bool directory = false;
  bool locked = false;  // cannot be read for want of a key
  uint64_t size = 0;    // bytes; 0 for a directory
  int64_t mtime_ns = 0;
  Lifetime lifetime = Lifetime::kForever;
};

}  // namespace ctxfs
