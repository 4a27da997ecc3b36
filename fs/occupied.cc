// SPDX-License-Identifier: Apache-2.0
#include "fs/occupied.h"

#include <dirent.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

namespace ctxfs {
namespace {

/// A path as /proc/self/mountinfo shows it: space, tab, newline and backslash
/// are a backslash and three octal digits.
std::string EscapePath(const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    switch (c) {
      case ' ':
        escaped += "\\040";
        break;
      case '\t':
        escaped += "\\011";
        break;
      case '\n':
        escaped += "\\012";
        break;
      case '\\':
        escaped += "\\134";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// The filesystem type of the topmost mount at `path`; empty if `path` is not a
/// mount point.
std::string TypeOfMountAt(const std::string& path) {
  // Each line: id, parent, device, root, mount point, options, optional
  // fields, "-", type, source, options. The topmost mount is the last one.
  const std::string escaped = EscapePath(path);
  std::ifstream mounts("/proc/self/mountinfo");
  std::string type;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word;
    for (int field = 0; field < 5; ++field) std::getline(words, word, ' ');
    if (word != escaped) continue;
    while (std::getline(words, word, ' ') && word != "-") {
    }
    std::getline(words, type, ' ');
  }
  return type;
}

}  // namespace

Status CheckUnoccupied(const std::string& path) {
  if (TypeOfMountAt(path) == "fuse.ctxfs") {
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
