// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/system_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/io/directory.h"
#include "core/io/download_cache.h"
#include "core/io/io_error.h"
#include "core/io/mount_guard.h"
#include "core/io/walk.h"
#include "core/vfs/log.h"

namespace ctxfs {
namespace {

/// Returns whether an error of finding a file means that it is not shown.
bool MeansNothing(const Error& error) {
  // EXDEV: ctxfs is mounted there.
  constexpr std::array kNothing = {ENOENT, ENOTDIR,      ELOOP,
                                   EACCES, ENAMETOOLONG, EXDEV};
  return std::find(kNothing.begin(), kNothing.end(), error.sys_errno) !=
         kNothing.end();
}

bool IsWithin(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" ||
         path.starts_with(directory + "/");
}

std::string RealPath(const std::string& path) {
  const Result<Fd> found = FindPath(path);
  return found ? found->real_path() : path;
}

/// Null if `watched` is false, or if directories cannot be watched.
std::unique_ptr<DirectoryWatch> MakeWatch(bool watched) {
  if (!watched) return nullptr;
  Result<std::unique_ptr<DirectoryWatch>> made = DirectoryWatch::Make();
  if (made) return std::move(*made);
  Log(LogLevel::kWarning, made.error().Text());
  return nullptr;
}

uint32_t NamesOf(const struct stat& st) {
  return S_ISDIR(st.st_mode) ? 1 : static_cast<uint32_t>(st.st_nlink);
}

Directory::Item ItemOf(const struct stat& st) {
  return {.directory = S_ISDIR(st.st_mode),
          .identity = FileIdentity::Of(st),
          .permissions = Permissions{st.st_uid, st.st_gid, st.st_mode & 0555},
          .names = NamesOf(st)};
}

/// Identifies `name` without a request to a file system mounted on it.
std::optional<FileIdentity> Identify(int directory, const std::string& name) {
  struct statx st {};
  constexpr int kFlags =
      AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(directory, name.c_str(), kFlags, STATX_TYPE | STATX_INO, &st) !=
      0) {
    return std::nullopt;
  }
  FileIdentity identity;
  identity.device = ::makedev(st.stx_dev_major, st.stx_dev_minor);
  identity.inode = st.stx_ino;
  return identity;
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

struct SystemDirectory::Opened {
  int fd;
  dev_t device;
  std::string real_path;
};

SystemDirectory::SystemDirectory(std::string path, Options options)
    : root_(std::move(path)),
      options_(std::move(options)),
      watch_(MakeWatch(options_.watched)) {
  struct stat st {};
  if (::stat(root_.c_str(), &st) == 0) identity_ = FileIdentity::Of(st);
  real_roots_.push_back(RealPath(root_));
}

SystemDirectory::SystemDirectory(std::vector<Top> tops, Options options)
    : tops_(std::move(tops)),
      options_(std::move(options)),
      watch_(MakeWatch(options_.watched)) {
  for (const Top& top : tops_) {
    struct stat st {};
    if (::stat(top.path.c_str(), &st) == 0) {
      identity_.mtime = std::max(identity_.mtime, FileIdentity::Of(st).mtime);
    }
    real_roots_.push_back(RealPath(top.path));
  }
}

std::string SystemDirectory::AbsolutePath(const std::string& path) const {
  if (tops_.empty()) return path.empty() ? root_ : root_ + "/" + path;
  const size_t end = std::min(path.find('/'), path.size());
  for (const Top& top : tops_) {
    if (path.compare(0, end, top.name) == 0) return top.path + path.substr(end);
  }
  return {};
}

bool SystemDirectory::Shows(const std::string& real_path) const {
  if (!options_.mount_point.empty() &&
      IsWithin(real_path, options_.mount_point)) {
    return false;
  }
  return !options_.confined || IsInside(real_path);
}

bool SystemDirectory::IsInside(const std::string& real_path) const {
  return std::any_of(
      real_roots_.begin(), real_roots_.end(),
      [&](const std::string& root) { return IsWithin(real_path, root); });
}

bool SystemDirectory::LeadsToBlob(const std::string& path,
                                  const std::string& real_path) const {
  const size_t slash = path.rfind('/');
  const Result<Fd> directory = FindPath(path.substr(0, slash), O_DIRECTORY);
  if (!directory || !IsInside(directory->real_path())) return false;
  const std::string name = path.substr(slash + 1);
  if (const auto blob = BlobOfLink(*directory, name)) {
    return StoredAt(*blob) == real_path;
  }
  // A blob of a repository may be a link to the store.
  const std::string blob = directory->real_path() + "/" + name;
  return blob != real_path && StoredAt(blob) == real_path;
}

bool SystemDirectory::LeadsEveryoneTo(const std::string& real_path) const {
  // Checks the directories from the source down to the target.
  for (const std::string& root : real_roots_) {
    if (!IsWithin(real_path, root)) continue;
    for (size_t end = real_path.find('/', root.size() + 1);
         end != std::string::npos; end = real_path.find('/', end + 1)) {
      struct stat st {};
      if (::stat(real_path.substr(0, end).c_str(), &st) != 0 ||
          (st.st_mode & 0111) != 0111) {
        return false;
      }
    }
    return true;
  }
  return false;
}

Maybe<Directory::Item> SystemDirectory::Find(const std::string& path,
                                             const Request& /*request*/) const {
  std::string absolute = AbsolutePath(path);
  if (absolute.empty()) return std::optional<Item>();
  Result<Fd> fd = FindPath(absolute);
  if (!fd && MeansNothing(fd.error())) return std::optional<Item>();
  if (!fd) return std::move(fd).error();
  const std::string real_path = fd->real_path();
  if (!Shows(real_path) || (options_.confined && real_path != absolute &&
                            !LeadsEveryoneTo(real_path))) {
    return std::optional<Item>();
  }
  if (options_.refuses_leaving && !IsInside(real_path) &&
      !LeadsToBlob(absolute, real_path)) {
    return Error{Code::kIo, "leads out of the SOURCE"};
  }
  struct stat st {};
  if (::fstat(fd->get(), &st) != 0) return IoError("cannot be examined");
  if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
    return std::optional<Item>();
  }
  Item item = ItemOf(st);
  item.fd = std::move(*fd);
  item.path = std::move(absolute);
  return std::optional(std::move(item));
}

Result<Directory::Item> SystemDirectory::FindDirectory(
    const std::string& path, const Request& /*request*/) const {
  if (IsAllTops(path)) return Item{.directory = true};
  Fd fd = CTXFS_TRY(FindPath(AbsolutePath(path), O_DIRECTORY));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return IoError("cannot be examined");
  Item item = ItemOf(st);
  item.fd = std::move(fd);
  return item;
}

Result<SourcePtr> SystemDirectory::Open(const Item& item,
                                        const SourceOptions& options,
                                        const Request& /*request*/) const {
  if (!item.fd.ok()) return OpenSource(item.path, options);
  SourceOptions named = options;
  named.given = item.path;
  return OpenSource(item.fd.proc_path(), named);
}

Status SystemDirectory::ListTops(const Visit& visit) const {
  for (const Top& top : tops_) {
    CTXFS_TRY(visit({top.name, Name::Type::kAsFound}));
  }
  return {};
}

Status SystemDirectory::List(const Item& directory, const Visit& visit,
                             const Request& /*request*/) const {
  if (!directory.fd.ok()) return ListTops(visit);
  const std::unique_ptr<DIR, CloseDir> dir(
      ::opendir(directory.fd.proc_path().c_str()));
  struct stat st {};
  if (dir == nullptr || ::fstat(::dirfd(dir.get()), &st) != 0) {
    return IoError("cannot be listed");
  }
  const Opened opened{::dirfd(dir.get()), st.st_dev, directory.fd.real_path()};
  while (true) {
    errno = 0;
    const struct dirent* one = ::readdir(dir.get());
    if (one == nullptr && errno != 0) return IoError("cannot be listed");
    if (one == nullptr) return {};
    const std::string name = one->d_name;
    if (name == "." || name == "..") continue;
    CTXFS_TRY(VisitName(opened, name, one->d_type, visit));
  }
}

Status SystemDirectory::VisitName(const Opened& opened, const std::string& name,
                                  unsigned char type,
                                  const Visit& visit) const {
  if (options_.confined || type == DT_LNK || type == DT_UNKNOWN) {
    return visit({name, Name::Type::kAsFound});
  }
  if (type == DT_REG) return VisitFile(opened, name, visit);
  if (type == DT_DIR) return VisitDirectory(opened, name, visit);
  return {};
}

Status SystemDirectory::VisitFile(const Opened& opened, const std::string& name,
                                  const Visit& visit) {
  // A file can also be a mount point.
  const std::optional<FileIdentity> identity = Identify(opened.fd, name);
  if (!identity || (identity->device != opened.device &&
                    MountGuard::Forbids(identity->device))) {
    return {};
  }
  struct stat st {};
  if (::fstatat(opened.fd, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status() : visit({name, Name::Type::kUnknown});
  }
  if (!S_ISREG(st.st_mode)) return {};
  return visit({name,
                Name::Type::kFile,
                {.identity = FileIdentity::Of(st),
                 .names = NamesOf(st),
                 .path = fmt::format("/proc/self/fd/{}/{}", opened.fd, name)}});
}

Status SystemDirectory::VisitDirectory(const Opened& opened,
                                       const std::string& name,
                                       const Visit& visit) const {
  const std::optional<FileIdentity> identity = Identify(opened.fd, name);
  if (!identity || MountGuard::Forbids(identity->device) ||
      !Shows(opened.real_path + "/" + name)) {
    return {};
  }
  return visit({name,
                Name::Type::kDirectory,
                {.directory = true, .identity = *identity}});
}

std::optional<struct statvfs> SystemDirectory::FileSystemOf(
    const std::string& path) const {
  const Result<Fd> found =
      FindPath(IsAllTops(path) ? tops_.front().path : AbsolutePath(path));
  struct statvfs state {};
  if (!found || ::fstatvfs(found->get(), &state) != 0) return std::nullopt;
  return state;
}

void SystemDirectory::Watch(Inode inode, const std::string& path) {
  // No single directory contains all tops.
  if (watch_ == nullptr || IsAllTops(path) || watch_->IsWatched(inode)) return;
  const Result<Fd> found = FindPath(AbsolutePath(path), O_DIRECTORY);
  if (found) watch_->Watch(inode, found->proc_path());
}

void SystemDirectory::Unwatch(Inode inode) {
  if (watch_ != nullptr) watch_->Forget(inode);
}

void SystemDirectory::SetListener(ChangeListener listener) {
  if (watch_ != nullptr) watch_->SetListener(std::move(listener));
}

void SystemDirectory::StopWatching() {
  if (watch_ != nullptr) watch_->Stop();
}

}  // namespace ctxfs
