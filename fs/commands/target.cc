// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/target.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/text/count_of.h"
#include "core/base/text/human_size.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr mode_t kMode = 0777;  // reduced by the umask
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
  const bool created = ::mkdir(path.c_str(), kMode) == 0;
  if (!created && errno != EEXIST) return IoError(kCannotCreate);
  DirectoryFd top = CTXFS_TRY(Adopt(::open(path.c_str(), kFlags)));
  return TargetTree(std::move(top), created ? path : "");
}

void TargetTree::RemoveIfUnused() const {
  if (!created_.empty()) (void)::rmdir(created_.c_str());
}

Result<size_t> TargetTree::Add(size_t above, const std::string& name) {
  const DirectoryFd parent = CTXFS_TRY(Open(above));
  if (::mkdirat(parent->get(), name.c_str(), kMode) != 0 && errno != EEXIST) {
    return IoError(kCannotCreate);
  }
  // An existing name may be a link or a file, which Enter refuses.
  CTXFS_TRY(Enter(*parent, name));
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
    at = CTXFS_TRY(Enter(*at, directories_[one].name));
  }
  return at;
}

Status TargetTree::CheckRoom(uint64_t bytes, uint64_t files) const {
  struct statvfs room {};
  if (::fstatvfs(top_->get(), &room) != 0) return {};  // writing reports why
  const uint64_t blocks = ::geteuid() == 0 ? room.f_bfree : room.f_bavail;
  const uint64_t free =
      CheckedMul(blocks, uint64_t{room.f_frsize}).value_or(UINT64_MAX);
  if (bytes > free) {
    return Error{Code::kIo,
                 "the files need " + HumanSize(bytes) + ", and " +
                     HumanSize(free) + " are free",
                 kNoOffset, ENOSPC};
  }
  // Some file systems do not count files.
  if (room.f_files > 0 && files > room.f_ffree) {
    return Error{
        Code::kIo,
        fmt::format("{} to be written, but the file system has room for {}",
                    CountOf(files, "file"), room.f_ffree),
        kNoOffset, ENOSPC};
  }
  return {};
}

std::string TargetTree::Path(size_t directory) const {
  std::string path;
  for (const size_t one : Way(directory)) {
    path += (path.empty() ? "" : "/") + directories_[one].name;
  }
  return path;
}

}  // namespace ctxfs
