// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/container/format.h"
#include "core/io/io_error.h"
#include "core/io/read_access.h"
#include "core/io/walk.h"
#include "core/vfs/log.h"

namespace ctxfs {
namespace {

/// Returns whether a failure to find a file means that nothing is shown there.
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

/// A container is shown as a directory, and whoever may read it may search it.
Permissions PermissionsOf(const struct stat& st, Kind kind) {
  if (kind == Kind::kDirectory) {
    return {st.st_uid, st.st_gid, st.st_mode & 0555};
  }
  const ReadAccess readers = ReadAccess::Of(st);
  const mode_t search = kind == Kind::kContainer ? readers.bits >> 2 : 0;
  return {readers.uid, readers.gid, readers.bits | search};
}

/// Null if names do not last long enough for changes to matter.
std::unique_ptr<DirectoryWatch> MakeWatch(std::chrono::seconds lasting) {
  if (lasting <= std::chrono::seconds(1)) return nullptr;
  Result<std::unique_ptr<DirectoryWatch>> made = DirectoryWatch::Make();
  if (made) return std::move(*made);
  Log(LogLevel::kWarning, made.error().Text());
  return nullptr;
}

}  // namespace

Mirror::Mirror(std::string path, Options options)
    : root_(std::move(path)),
      options_(std::move(options)),
      kept_(options_.lasting),
      watch_(MakeWatch(options_.lasting)) {
  struct stat st {};
  if (::stat(root_.c_str(), &st) == 0) root_identity_ = FileIdentity::Of(st);
  real_roots_.push_back(RealPath(root_));
}

Mirror::Mirror(std::vector<Top> tops, Options options)
    : tops_(std::move(tops)),
      options_(std::move(options)),
      kept_(options_.lasting),
      watch_(MakeWatch(options_.lasting)) {
  for (const Top& top : tops_) {
    struct stat st {};
    if (::stat(top.path.c_str(), &st) == 0) {
      root_identity_.mtime =
          std::max(root_identity_.mtime, FileIdentity::Of(st).mtime);
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
  if (!tops_.empty()) return std::nullopt;
  const Result<Fd> found = FindPath(root_);
  struct stat st {};
  if (!found || ::fstat(found->get(), &st) != 0) return std::nullopt;
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
      place.line.push_back(found->second.node.identity);
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

Inode Mirror::InodeOf(Inode parent, std::string_view name,
                      const FileIdentity& identity, Kind kind) {
  // A container whose bytes change is another one, with other inodes in it; a
  // plain file or a directory stays what it is.
  FileIdentity lasting = identity;
  lasting.ctime = {};
  if (kind != Kind::kContainer) lasting.size = 0;
  if (kind != Kind::kContainer) lasting.mtime = {};
  std::string text(reinterpret_cast<const char*>(&lasting), sizeof(lasting));
  text.append(reinterpret_cast<const char*>(&parent), sizeof(Inode));
  text += static_cast<char>(kind);
  text += name;
  return XXH3_64bits(text.data(), text.size()) | kBit;
}

bool Mirror::Loops(const Place& place, const FileIdentity& directory) {
  return std::any_of(
      place.line.begin(), place.line.end(),
      [&](const FileIdentity& outer) { return directory.SameFile(outer); });
}

Maybe<Mirror::Found> Mirror::See(const Place& place, std::string_view name,
                                 bool probe) const {
  Maybe<Found> seen = SeeFile(place, name, probe);
  if (!seen || *seen || !name.ends_with(kInside)) return seen;
  return SeeInside(place, name);
}

Maybe<Mirror::Found> Mirror::SeeInside(const Place& place,
                                       std::string_view name) const {
  const std::string_view outside = name.substr(0, name.size() - kInside.size());
  Maybe<Found> seen = SeeContained(place, outside);
  if (seen && *seen && (*seen)->node.directory) {
    seen = SeeFolderIndex(place, outside, (*seen)->node);
  }
  if (!seen || !*seen) return seen;
  Node& node = (*seen)->node;
  node.kind = Kind::kContainer;
  node.inode = InodeOf(place.inode, name, node.identity, node.kind);
  node.permissions.bits |= node.permissions.bits >> 2;  // as a directory
  return seen;
}

Maybe<Mirror::Found> Mirror::SeeContained(const Place& place,
                                          std::string_view name) const {
  Maybe<Found> seen = SeeFile(place, name, /*probe=*/false);
  if (!seen || !*seen || (*seen)->node.directory) return seen;
  const Node& node = (*seen)->node;
  if (node.kind != Kind::kFile) return std::optional<Found>();
  const Result<bool> container =
      detector_.HoldsContainer((*seen)->fd.proc_path(), node.identity, name);
  if (!container) return container.error();
  if (!*container) return std::optional<Found>();
  return seen;
}

Maybe<Mirror::Found> Mirror::SeeFolderIndex(const Place& place,
                                            std::string_view name,
                                            const Node& folder) const {
  // The kernel asks for no right to search the folder on the way to FOLDER~dir.
  if (options_.confined && (folder.permissions.bits & 0111) != 0111) {
    return std::optional<Found>();
  }
  Place inside{folder.inode, PathIn(place, name), place.line};
  inside.line.push_back(folder.identity);
  for (const Format* format : Formats()) {
    if (format->folder_index.empty()) continue;
    Maybe<Found> seen = SeeContained(inside, format->folder_index);
    if (!seen || (*seen && !(*seen)->node.directory)) return seen;
  }
  return std::optional<Found>();
}

Maybe<Mirror::Found> Mirror::SeeFile(const Place& place, std::string_view name,
                                     bool probe) const {
  const std::string path = PathIn(place, name);
  if (path.empty()) return std::optional<Found>();
  Result<Fd> fd = FindPath(path);
  if (!fd && MeansNothing(fd.error())) return std::optional<Found>();
  if (!fd) return std::move(fd).error();
  const std::string real_path = fd->real_path();
  if (!Shows(real_path) ||
      (options_.confined && real_path != path && !LeadsEveryoneTo(real_path))) {
    return std::optional<Found>();
  }
  struct stat st {};
  if (::fstat(fd->get(), &st) != 0) return IoError("cannot be examined");
  const bool directory = S_ISDIR(st.st_mode);
  if (!directory && !S_ISREG(st.st_mode)) return std::optional<Found>();
  const FileIdentity identity = FileIdentity::Of(st);
  // A link to a directory that it lies in would have no end.
  if (directory && Loops(place, identity)) return std::optional<Found>();
  Result<Kind> kind = Kind::kDirectory;
  if (!directory || probe) {
    kind = detector_.Of(fd->proc_path(), identity, directory);
  }
  if (!kind) return std::move(kind).error();
  return std::optional(
      Found{{InodeOf(place.inode, name, identity, *kind), *kind, directory,
             identity, PermissionsOf(st, *kind)},
            std::move(*fd),
            path});
}

Maybe<Mirror::Node> Mirror::Lookup(Inode directory, std::string_view name) {
  const Result<Place> place = PlaceOf(directory);
  if (!place) return place.error();
  Watch(*place);
  const Maybe<Found> seen = See(*place, name, /*probe=*/true);
  if (!seen) return seen.error();
  if (!*seen) return std::optional<Node>();
  Node node = (*seen)->node;
  const MutexLock lock(mutex_);
  node.inode = HeldAs(directory, name, node.inode);
  while (true) {
    const auto [at, added] = held_.try_emplace(
        node.inode, Held{directory, std::string(name), node, 0});
    Held& held = at->second;
    if (added || (!held.retired && held.parent == directory &&
                  held.name == name && held.node.kind == node.kind &&
                  held.node.identity.SameFile(node.identity))) {
      held.node = node;
      ++held.count;
      return std::optional(node);
    }
    node.inode = After(node.inode);
  }
}

bool Mirror::Forget(Inode inode, uint64_t count) {
  {
    const MutexLock lock(mutex_);
    const auto found = held_.find(inode);
    if (found == held_.end()) return false;
    found->second.count -= std::min(found->second.count, count);
    if (found->second.count > 0) return false;
    held_.erase(found);
    listed_.erase(inode);
  }
  kept_.Drop(inode);
  if (watch_ != nullptr) watch_->Forget(inode);
  return true;
}

void Mirror::Watch(const Place& place) const {
  // Several sources have no directory in common.
  if (watch_ == nullptr || place.path.empty() ||
      watch_->IsWatched(place.inode)) {
    return;
  }
  const Result<Fd> found = FindPath(place.path, O_DIRECTORY);
  if (found) watch_->Watch(place.inode, found->proc_path());
}

std::vector<std::pair<Inode, std::string>> Mirror::HeldNames() const {
  std::vector<std::pair<Inode, std::string>> names;
  const MutexLock lock(mutex_);
  names.reserve(held_.size());
  for (const auto& [inode, held] : held_) {
    names.emplace_back(held.parent, held.name);
  }
  return names;
}

void Mirror::TellChanges(Changed changed) {
  if (watch_ == nullptr) return;
  watch_->SetListener({changed, [this, changed] {
                         for (const auto& [directory, name] : HeldNames()) {
                           changed(directory, name);
                         }
                       }});
}

void Mirror::StopTelling() {
  if (watch_ != nullptr) watch_->Stop();
}

bool Mirror::StillIs(const Node& held, const Node& now) {
  if (!held.identity.SameFile(now.identity) ||
      held.directory != now.directory) {
    return false;
  }
  // A directory was not probed again.
  if (!now.directory && held.kind != now.kind) return false;
  return held.kind != Kind::kContainer ||
         held.identity.EqualButForCtime(now.identity);
}

Result<Mirror::Found> Mirror::Find(Inode inode) const {
  const Error stale{Code::kStale, "the file is there no more"};
  std::optional<Held> held;
  {
    const MutexLock lock(mutex_);
    const auto found = held_.find(inode);
    if (found == held_.end() || found->second.retired) return stale;
    held = found->second;
  }
  const Result<Place> place = PlaceOf(held->parent);
  if (!place) return place.error();
  Maybe<Found> seen = See(*place, held->name, /*probe=*/false);
  if (!seen) return std::move(seen).error();
  if (!*seen || !StillIs(held->node, (*seen)->node)) return stale;
  Node& node = (*seen)->node;
  node.inode = inode;
  node.kind = held->node.kind;
  return std::move(**seen);
}

void Mirror::Retire(Inode inode) {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  if (found == held_.end()) return;
  found->second.retired = true;
  any_retired_ = true;
}

Inode Mirror::HeldAs(Inode directory, std::string_view name,
                     Inode inode) const {
  // So many look-ups of one name that were retired are gone past. Those that
  // were forgotten have left gaps.
  constexpr int kMostGone = 8;
  Inode after = inode;
  for (int i = 0; any_retired_ && i < kMostGone; ++i, after = After(after)) {
    const auto found = held_.find(after);
    if (found != held_.end() && !found->second.retired &&
        found->second.parent == directory && found->second.name == name) {
      return after;
    }
  }
  return inode;
}

Inode Mirror::InodeNow(Inode directory, std::string_view name,
                       Inode inode) const {
  if (!any_retired_) return inode;
  const MutexLock lock(mutex_);
  inode = HeldAs(directory, name, inode);
  while (true) {
    const auto found = held_.find(inode);
    if (found == held_.end() || !found->second.retired) return inode;
    inode = After(inode);
  }
}

bool Mirror::WasOpenedAs(Inode inode, const FileIdentity& identity) const {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  return found != held_.end() && found->second.opened == identity;
}

void Mirror::NoteOpened(Inode inode, const FileIdentity& identity) {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  if (found != held_.end()) found->second.opened = identity;
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
