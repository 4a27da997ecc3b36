// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "core/io/identity.h"

namespace ctxfs {

using Inode = uint64_t;

constexpr Inode kRootInode = 1;  // of a mount

/// How long the kernel may cache names and attributes.
enum class Lifetime : uint8_t {
  kForever,      // in a container: a container that changes gets new inodes
  kMoment,       // in a mirrored directory, which may change
  kNone,         // not at all, because they may differ at each request
  kUntilChange,  // until a change of the container is reported to the kernel
};

/// The owner of a file, and its permission bits.
struct Permissions {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t bits = 0;  // some of 0444; of 0555 for a directory
};

/// The result of stat for a file or a directory.
struct Attributes {
  bool directory = false;
  bool locked = false;  // encrypted, without a key
  uint64_t size = 0;    // bytes; 0 for a directory
  FileTime mtime = {};
  Lifetime lifetime = Lifetime::kForever;
  /// The permissions of the container or mirrored file; nullopt for a file of
  /// the mount's own.
  std::optional<Permissions> permissions = std::nullopt;
  bool link = false;   // a symbolic link; `size` is that of its target
  uint32_t names = 1;  // hard links; of a directory, 1 if they are not counted
  /// Permission bits that an archive stores for its member.
  std::optional<uint16_t> mode = std::nullopt;
};

}  // namespace ctxfs
