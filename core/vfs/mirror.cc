// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/io/beneath.h"
#include "core/io/readers.h"

namespace ctxfs {
namespace {

Error IoError(const std::string& what) {
  return {Code::kIo, what + ": " + std::strerror(errno)};
}

/// Something of the system, found but not opened: no fifo is disturbed.
Fd FindAt(const std::string& path) {
  return Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
}

/// Where it is when all links are followed.
std::string RealPath(const Fd& found) {
  char path[PATH_MAX];
  const ssize_t size =
      ::readlink(found.proc_path().c_str(), path, sizeof(path));
  return {path, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

/// Whether errno says that there is nothing to be shown.
bool MeansNothing() {
  return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
         errno == EACCES || errno == ENAMETOOLONG;
}

bool IsWithin(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" ||
         path.starts_with(directory + "/");
}

std::string RealPath(const std::string& path) {
  const Fd found = FindAt(path);
  return found.get() >= 0 ? RealPath(found) : path;
}

/// What is shown of a container is a directory wherever it may be read.
Permissions PermissionsOf(const struct stat& st, Kind kind) {
  if (kind == Kind::kDirectory) {
    return {st.st_uid, st.st_gid, st.st_mode & 0555};
  }
  const Readers readers = Readers::Of(st);
  const mode_t search = kind == Kind::kContainer ? readers.bits >> 2 : 0;
  return {readers.uid, readers.gid, readers.bits | search};
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

Mirror::Mirror(std::string path, Options options)
    : root_(std::move(path)), options_(std::move(options)) {
  struct stat st {};
  if (::stat(root_.c_str(), &st) == 0) root_identity_ = FileIdentity::Of(st);
  real_roots_.push_back(RealPath(root_));
}

Mirror::Mirror(std::vector<Top> tops, Options options)
    : tops_(std::move(tops)), options_(std::move(options)) {
  for (const Top& top : tops_) {
    struct stat st {};
    if (::stat(top.path.c_str(), &st) == 0) {
      root_identity_.mtime_ns =
          std::max(root_identity_.mtime_ns, FileIdentity::Of(st).mtime_ns);
    }
    real_roots_.push_back(RealPath(top.path));
  }
}

bool Mirror::Shows(const std::string& real_path) const {
  if (!options_.mount_point.empty() &&
      IsWithin(real_path, options_.mount_point)) {
    return false;
  }
  return !options_.confined ||
         std::any_of(real_roots_.begin(), real_roots_.end(),
                     [&](const std::string& root) {
                       return IsWithin(real_path, root);
                     });
}

bool Mirror::LeadsEveryoneTo(const std::string& real_path) const {
  // From the source that it lies in down to it.
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

std::optional<Permissions> Mirror::RootPermissions() const {
  struct stat st {};
  if (!tops_.empty() || ::stat(root_.c_str(), &st) != 0) return std::nullopt;
  return PermissionsOf(st, Kind::kDirectory);
}

Result<Mirror::Place> Mirror::PlaceOf(Inode directory) const {
  Place place{directory, root_, {}};
  std::vector<std::string> names;
  {
    const MutexLock lock(mutex_);
    for (Inode inode = directory; inode != kRoot;) {
      const auto found = held_.find(inode);
      if (found == held_.end()) {
        return Error{Code::kStale, "the directory is there no more"};
      }
      names.push_back(found->second.name);
      place.line.push_back(found->second.identity);
      inode = found->second.parent;
    }
  }
  if (tops_.empty()) place.line.push_back(root_identity_);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    place.path = PathIn(place, *name);
  }
  return place;
}

std::string Mirror::PathIn(const Place& place, std::string_view name) const {
  if (!place.path.empty()) return place.path + "/" + std::string(name);
  for (const Top& top : tops_) {
    if (top.name == name) return top.path;
  }
  return {};
}

Mirror::Node Mirror::NodeOf(const Place& place, const std::string& name,
                            const struct stat& st, Kind kind) const {
  const FileIdentity identity = FileIdentity::Of(st);
  // A container whose bytes change is another one, with other inodes in it; a
  // plain file or a directory stays what it is.
  FileIdentity lasting = identity;
  if (kind != Kind::kContainer) lasting.size = 0;
  if (kind != Kind::kContainer) lasting.mtime_ns = 0;
  std::string text(reinterpret_cast<const char*>(&lasting), sizeof(lasting));
  text.append(reinterpret_cast<const char*>(&place.inode), sizeof(Inode));
  text += static_cast<char>(kind);
  text += name;
  return {XXH3_64bits(text.data(), text.size()) | kBit,
          place.inode,
          PathIn(place, name),
          kind,
          identity,
          PermissionsOf(st, kind)};
}

Result<std::optional<Mirror::Node>> Mirror::See(const Place& place,
                                                const std::string& name) const {
  const std::string path = PathIn(place, name);
  if (path.empty()) return std::optional<Node>();
  const Fd found = FindAt(path);
  struct stat st {};
  if (found.get() < 0) {
    if (MeansNothing()) return std::optional<Node>();
    return IoError("cannot be found");
  }
  const std::string real_path = RealPath(found);
  if (!Shows(real_path) ||
      (options_.confined && real_path != path && !LeadsEveryoneTo(real_path))) {
    return std::optional<Node>();
  }
  if (::fstat(found.get(), &st) != 0) return IoError("cannot be examined");
  const bool directory = S_ISDIR(st.st_mode);
  if (!directory && !S_ISREG(st.st_mode)) return std::optional<Node>();
  const FileIdentity identity = FileIdentity::Of(st);
  // A link to a directory that it lies in would have no end.
  const bool loop = std::any_of(
      place.line.begin(), place.line.end(),
      [&](const FileIdentity& outer) { return identity.SameFile(outer); });
  if (directory && loop) return std::optional<Node>();
  return std::optional(NodeOf(
      place, name, st, kinds_.Of(found.proc_path(), identity, directory)));
}

std::optional<Mirror::Node> Mirror::SeeFile(const Place& place,
                                            const std::string& name,
                                            int directory_fd) const {
  struct stat st {};
  if (::fstatat(directory_fd, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(st.st_mode)) {
    return std::nullopt;
  }
  const FileIdentity identity = FileIdentity::Of(st);
  return NodeOf(place, name, st,
                kinds_.Of(PathIn(place, name), identity, false));
}

Result<std::optional<Mirror::Node>> Mirror::Lookup(Inode directory,
                                                   std::string_view name) {
  const Result<Place> place = PlaceOf(directory);
  if (!place) return place.error();
  Result<std::optional<Node>> seen = See(*place, std::string(name));
  if (!seen || !*seen) return seen;
  Node& node = **seen;
  const MutexLock lock(mutex_);
  while (true) {
    const auto [at, added] = held_.try_emplace(
        node.inode,
        Held{directory, std::string(name), node.kind, node.identity, 0});
    Held& held = at->second;
    if (added ||
        (held.parent == directory && held.name == name &&
         held.kind == node.kind && held.identity.SameFile(node.identity))) {
      held.identity = node.identity;
      ++held.count;
      return seen;
    }
    node.inode = (node.inode + 1) | kBit;  // another's
  }
}

bool Mirror::Forget(Inode inode, uint64_t count) {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  if (found == held_.end()) return false;
  found->second.count -= std::min(found->second.count, count);
  if (found->second.count > 0) return false;
  held_.erase(found);
  return true;
}

Result<Mirror::Node> Mirror::Find(Inode inode) const {
  const Error stale{Code::kStale, "the file is there no more"};
  Inode parent = 0;
  std::string name;
  {
    const MutexLock lock(mutex_);
    const auto found = held_.find(inode);
    if (found == held_.end()) return stale;
    parent = found->second.parent;
    name = found->second.name;
  }
  const Result<Place> place = PlaceOf(parent);
  if (!place) return place.error();
  Result<std::optional<Node>> seen = See(*place, name);
  if (!seen) return std::move(seen).error();
  if (!*seen || (*seen)->inode != inode) return stale;
  return std::move(**seen);
}

bool Mirror::Reopen(Inode inode, const FileIdentity& identity) {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  if (found == held_.end()) return false;
  return std::exchange(found->second.opened, identity) == identity;
}

Result<std::vector<std::pair<std::string, Mirror::Node>>> Mirror::List(
    Inode directory) const {
  const Result<Place> place = PlaceOf(directory);
  if (!place) return place.error();
  std::vector<std::pair<std::string, Node>> nodes;
  const auto add = [&](const std::string& name) {
    // What cannot be examined now is not hidden by that from those that can.
    Result<std::optional<Node>> seen = See(*place, name);
    if (seen && *seen) nodes.emplace_back(name, std::move(**seen));
  };
  if (place->path.empty()) {
    for (const Top& top : tops_) add(top.name);
    return nodes;
  }
  const std::unique_ptr<DIR, CloseDir> dir(::opendir(place->path.c_str()));
  if (dir == nullptr) return IoError("cannot be listed");
  while (true) {
    errno = 0;
    const struct dirent* one = ::readdir(dir.get());
    if (one == nullptr && errno != 0) return IoError("cannot be listed");
    if (one == nullptr) return nodes;
    const std::string name = one->d_name;
    if (name == "." || name == "..") continue;
    if (one->d_type != DT_REG || options_.confined) {
      add(name);
    } else if (auto node = SeeFile(*place, name, ::dirfd(dir.get()))) {
      nodes.emplace_back(name, std::move(*node));
    }
  }
}

Inode Mirror::Parent(Inode inode) const {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  return found == held_.end() ? kRoot : found->second.parent;
}

std::string Mirror::PathOf(Inode inode) const {
  std::string path;
  const MutexLock lock(mutex_);
  while (inode != kRoot) {
    const auto found = held_.find(inode);
    if (found == held_.end()) break;
    if (!path.empty()) path.insert(0, 1, '/');
    path.insert(0, found->second.name);
    inode = found->second.parent;
  }
  return path;
}

}  // namespace ctxfs
