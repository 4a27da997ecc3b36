// SPDX-License-Identifier: Apache-2.0
#include "core/io/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/base/limits.h"
#include "core/io/companions.h"
#include "core/io/io_error.h"
#include "core/io/urls/url.h"
#include "core/io/walk.h"

namespace ctxfs {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

Result<SourcePtr> DirectorySource::Open(const std::string& path,
                                        const SourceOptions& options) {
  const Fd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.ok()) return IoError("cannot be opened");
  struct stat st {};
  if (::fstat(found.get(), &st) != 0) return IoError("cannot be examined");
  if (!S_ISDIR(st.st_mode)) return Error{Code::kIo, "is no directory"};
  return SourcePtr(new DirectorySource(
      found.real_path() + "/", FileIdentity::Of(st), options,
      ReadAccess::Of(st), std::make_shared<Companions>()));
}

DirectorySource::DirectorySource(std::string path, const FileIdentity& identity,
                                 const SourceOptions& options,
                                 const ReadAccess& readers,
                                 std::shared_ptr<Companions> companions)
    : path_(std::move(path)),
      identity_(identity),
      options_(options),
      read_access_(readers),
      companions_(std::move(companions)) {}

Result<SourcePtr> DirectorySource::Renew() const {
  const Error stale{Code::kStale, "the directory changed under the mount"};
  if (!options_.watch_ctime || companions_->replaced()) return stale;
  const Result<struct stat> found = StatPath(path_);
  if (found && !identity_.SameFile(FileIdentity::Of(*found))) return stale;
  std::shared_ptr<DirectorySource> renewed(
      new DirectorySource(path_, identity_, options_, read_access_,
                          std::make_shared<Companions>(*companions_)));
  const MutexLock lock(mutex_);
  const MutexLock other(renewed->mutex_);
  renewed->listed_ = listed_;
  return SourcePtr(std::move(renewed));
}

Status DirectorySource::ReadAt(uint64_t offset, MutableBytes out,
                               const Request& /*request*/) const {
  if (offset == 0 && out.empty()) return {};
  return PastTheEnd(offset);
}

Result<std::vector<DirectoryEntry>> DirectorySource::List(
    const Request& /*request*/) const {
  if (!options_.watch_ctime) return Noted(ListOnce());
  {
    const MutexLock lock(mutex_);
    if (listed_) return *listed_;
  }
  Result<std::vector<DirectoryEntry>> listed = Noted(ListOnce());
  const MutexLock lock(mutex_);
  if (listed) listed_ = *listed;
  return listed;
}

Result<std::vector<DirectoryEntry>> DirectorySource::ListOnce() const {
  const Fd found = CTXFS_TRY(FindPath(path_, O_DIRECTORY));
  const std::unique_ptr<DIR, CloseDir> dir(
      ::opendir(found.proc_path().c_str()));
  if (dir == nullptr) return IoError("cannot be listed");
  std::vector<DirectoryEntry> entries;
  while (true) {
    errno = 0;
    const struct dirent* one = ::readdir(dir.get());
    if (one == nullptr && errno != 0) return IoError("cannot be listed");
    if (one == nullptr) break;
    const std::string name = one->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() == limits::kDirectoryNames) {
      return Error{Code::kLimit,
                   fmt::format("the directory holds more than {} names",
                               limits::kDirectoryNames)};
    }
    bool directory = one->d_type == DT_DIR;
    bool link = one->d_type == DT_LNK;
    if (link || one->d_type == DT_UNKNOWN) {
      directory = FindBeneath(path_, name, O_DIRECTORY).has_value();
    }
    struct stat st {};
    if (one->d_type == DT_UNKNOWN && ::fstatat(::dirfd(dir.get()), name.c_str(),
                                               &st, AT_SYMLINK_NOFOLLOW) == 0) {
      link = S_ISLNK(st.st_mode);
    }
    entries.push_back({name, directory, link});
  }
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Status DirectorySource::CheckAllUnchanged() const {
  return companions_->CheckUnchanged();
}

Result<SourcePtr> DirectorySource::OpenBeside(
    const std::string& path, const Request& /*request*/) const {
  return Noted(companions_->Open(path, [&] {
    return FileSource::OpenIn(path_, path, options_, read_access_);
  }));
}

Result<SourcePtr> DirectorySource::OpenDirectoryBeside(
    const std::string& path, const Request& /*request*/) const {
  return Noted(
      companions_->Open(path, [&] { return OpenDirectoryOnce(path); }));
}

Result<SourcePtr> DirectorySource::OpenDirectoryOnce(
    const std::string& path) const {
  const Fd found = CTXFS_TRY(FindBeneath(path_, path, O_DIRECTORY));
  Result<SourcePtr> source = Open(found.proc_path(), options_);
  if (source && options_.access == AccessScope::kEveryone &&
      !(*source)->read_access()->Include(read_access_)) {
    return Error{Code::kIo, "is not for all who may read the container"};
  }
  return source;
}

Result<SourcePtr> OpenSource(const std::string& path,
                             const SourceOptions& options,
                             const Request& request) {
  if (IsUrl(path)) return OpenUrl(path, request);
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) {
    return DirectorySource::Open(path, options);
  }
  return FileSource::Open(path, options);
}

}  // namespace ctxfs
