// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/target.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr mode_t kMode = 0777;  // less the umask
constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr const char* kCannotCreate = "cannot create the directory";

Result<DirectoryFd> Adopt(int fd) {
  if (fd < 0) return IoError("cannot open the directory");
  return std::make_shared<const Fd>(fd);
}

Result<DirectoryFd> Enter(const Fd& above, const std::string& name) {
  return Adopt(::openat(above.get(), name.c_str(), kFlags | O_NOFOLLOW));
}

}  // namespace

Result<TargetTree> TargetTree::Make(const std::string& path) {
  if (::mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) {
    return IoError(kCannotCreate);
  }
  Result<DirectoryFd> top = Adopt(::open(path.c_str(), kFlags));
  if (!top) return std::move(top).error();
  return TargetTree(std::move(*top));
}

Result<size_t> TargetTree::Add(size_t above, const std::string& name) {
  const Result<DirectoryFd> parent = Open(above);
  if (!parent) return parent.error();
  if (::mkdirat((*parent)->get(), name.c_str(), kMode) != 0 &&
      errno != EEXIST) {
    return IoError(kCannotCreate);
  }
  // What existed before may be a link or a file, which Enter refuses.
  const Result<DirectoryFd> made = Enter(**parent, name);
  if (!made) return made.error();
  directories_.push_back({above, name});
  return directories_.size() - 1;
}

std::vector<size_t> TargetTree::Way(size_t directory) const {
  std::vector<size_t> way;
  for (; directory != kTop; directory = directories_[directory].above) {
    way.push_back(directory);
  }
  std::reverse(way.begin(), way.end());
  return way;
}

Result<DirectoryFd> TargetTree::Open(size_t directory) const {
  DirectoryFd at = top_;
  for (const size_t one : Way(directory)) {
    Result<DirectoryFd> next = Enter(*at, directories_[one].name);
    if (!next) return next;
    at = std::move(*next);
  }
  return at;
}

std::string TargetTree::Path(size_t directory) const {
  std::string path;
  for (const size_t one : Way(directory)) {
    path += (path.empty() ? "" : "/") + directories_[one].name;
  }
  return path;
}

}  // namespace ctxfs
