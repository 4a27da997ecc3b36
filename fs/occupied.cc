// SPDX-License-Identifier: Apache-2.0
#include "fs/occupied.h"

#include <dirent.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "fs/common/mount_table.h"

namespace ctxfs {
namespace {

/// The filesystem type of the topmost mount at `path`; empty if `path` is not a
/// mount point.
std::string TypeOfMountAt(const std::string& path) {
  std::string type;
  for (const MountEntry& mount : MountTable()) {
    if (mount.point == path) type = mount.type;
  }
  return type;
}

}  // namespace

Status CheckUnoccupied(const std::string& path) {
  if (TypeOfMountAt(path) == kMountType) {
    return Error{Code::kIo,
                 "already has a ctxfs mount; unmount it, or hide it with -o "
                 "nonempty"};
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()),
                                                      &::closedir);
  if (directory == nullptr) {
    return Error{Code::kIo,
                 std::string("cannot be listed: ") + std::strerror(errno)};
  }
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      return Error{Code::kIo,
                   "is not empty; hide its files with -o nonempty, or choose "
                   "another directory"};
    }
  }
  return {};
}

}  // namespace ctxfs
