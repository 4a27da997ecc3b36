// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/mirror.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/container/format.h"

namespace ctxfs {
namespace {

/// The permissions of an item as shown: everyone who may read a container may
/// also search it.
std::optional<Permissions> PermissionsOf(const Directory::Item& item,
                                         Kind kind) {
  std::optional<Permissions> shown = item.permissions;
  if (!shown || kind == Kind::kDirectory) return shown;
  const mode_t search = shown->bits & 0111;
  shown->bits &= 0444;
  // Reading a container of several files also needs search permission.
  if (item.directory) shown->bits &= search << 2;
  if (kind == Kind::kContainer) shown->bits |= shown->bits >> 2;
  return shown;
}

}  // namespace

Mirror::Mirror(std::unique_ptr<Directory> directory, Options options)
    : options_(options),
      kept_(options_.lasting, options_.opened_by_kernel),
      directory_(std::move(directory)) {}

std::optional<Permissions> Mirror::RootPermissions(
    const Request& request) const {
  const Result<Directory::Item> root = directory_->FindDirectory("", request);
  return root ? root->permissions : std::nullopt;
}

Result<Mirror::Place> Mirror::PlaceOf(Inode directory) const {
  Place place{directory, {}, {}};
  std::vector<std::string> names;
  {
    const MutexLock lock(mutex_);
    for (Inode inode = directory; inode != kRootInode;) {
      const auto found = held_.find(inode);
      if (found == held_.end()) {
        return Error{Code::kStale, "the directory is there no more"};
      }
      names.push_back(found->second.name);
      place.line.push_back(found->second.node.identity);
      inode = found->second.parent;
    }
  }
  place.line.push_back(directory_->identity());
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    place.path = PathIn(place, *name);
  }
  return place;
}

std::string Mirror::PathIn(const Place& place, std::string_view name) {
  if (place.path.empty()) return std::string(name);
  return place.path + "/" + std::string(name);
}

Inode Mirror::InodeOf(Inode parent, std::string_view name, const Node& node) {
  // A container whose bytes change becomes another one, with other inodes in
  // it; a plain file or a directory keeps its identity.
  FileIdentity lasting = node.identity;
  lasting.ctime = {};
  if (node.kind != Kind::kContainer) lasting.size = 0;
  if (node.kind != Kind::kContainer) lasting.mtime = {};
  std::string text(reinterpret_cast<const char*>(&lasting), sizeof(lasting));
  text += static_cast<char>(node.kind);
  if (!node.IsShared()) {
    text.append(reinterpret_cast<const char*>(&parent), sizeof(Inode));
    text += name;
  }
  return XXH3_64bits(text.data(), text.size()) | kBit;
}

Mirror::Node Mirror::NodeOf(const Place& place, std::string_view name,
                            const Directory::Item& item, Kind kind) {
  Node node{.kind = kind,
            .directory = item.directory,
            .link = !item.link.empty(),
            .identity = item.identity,
            .permissions = PermissionsOf(item, kind),
            .names = item.names};
  node.inode = InodeOf(place.inode, name, node);
  return node;
}

bool Mirror::Held::Is(Inode directory, std::string_view of,
                      const Node& now) const {
  if (retired || node.kind != now.kind ||
      !node.identity.SameFile(now.identity)) {
    return false;
  }
  if (node.IsShared() || now.IsShared()) {
    return node.IsShared() && now.IsShared();
  }
  return parent == directory && name == of;
}

void Mirror::Held::NoteName(Inode directory, std::string_view looked_up) {
  if (parent == directory && name == looked_up) return;
  others.emplace(parent, std::move(name));
  parent = directory;
  name = looked_up;
  others.erase({parent, name});
}

std::vector<Mirror::Name> Mirror::Held::Names(size_t most) const {
  std::vector<Name> names = {{parent, name}};
  for (const Name& other : others) {
    if (names.size() >= most) break;
    names.push_back(other);
  }
  return names;
}

bool Mirror::Loops(const Place& place, const FileIdentity& directory) {
  return std::any_of(
      place.line.begin(), place.line.end(),
      [&](const FileIdentity& outer) { return directory.SameFile(outer); });
}

Maybe<Mirror::Found> Mirror::See(const Place& place, std::string_view name,
                                 bool probe, const Request& request) const {
  Maybe<Found> seen = SeeFile(place, name, probe, request);
  if (!seen || *seen || !name.ends_with(kInside)) return seen;
  return SeeInside(place, name, request);
}

Maybe<Mirror::Found> Mirror::SeeInside(const Place& place,
                                       std::string_view name,
                                       const Request& request) const {
  const std::string_view outside = name.substr(0, name.size() - kInside.size());
  Maybe<Found> seen = SeeContained(place, outside, request);
  if (seen && *seen && (*seen)->node.directory) {
    Maybe<Found> index = SeeFolderIndex(place, outside, (*seen)->node, request);
    if (!index || *index) {
      seen = std::move(index);
    } else if (!CTXFS_TRY(IsOutermost(place, **seen, outside, request))) {
      return std::optional<Found>();
    }
  }
  if (!seen || !*seen) return seen;
  Node& node = (*seen)->node;
  node.kind = Kind::kContainer;
  node.inode = InodeOf(place.inode, name, node);
  if (auto& shown = node.permissions) shown->bits |= shown->bits >> 2;
  return seen;
}

Maybe<Mirror::Found> Mirror::SeeContained(const Place& place,
                                          std::string_view name,
                                          const Request& request) const {
  Maybe<Found> seen = SeeFile(place, name, /*probe=*/false, request);
  if (!seen || !*seen || (*seen)->node.directory) return seen;
  const Node& node = (*seen)->node;
  if (node.kind != Kind::kFile || node.link) return std::optional<Found>();
  const bool container = CTXFS_TRY(
      detector_.HoldsContainer(*directory_, (*seen)->item, name, request));
  if (!container) return std::optional<Found>();
  if (const Format* const format = FormatOfPart(name)) {
    const auto whole =
        CTXFS_TRY(SeeContained(place, format->folder_index, request));
    if (whole) return std::optional<Found>();
  }
  return seen;
}

Maybe<Mirror::Found> Mirror::SeeFolderIndex(const Place& place,
                                            std::string_view name,
                                            const Node& folder,
                                            const Request& request) const {
  // On the way to FOLDER~dir the kernel does not check search permission of the
  // folder.
  if (directory_->is_for_others() && folder.permissions &&
      (folder.permissions->bits & 0111) != 0111) {
    return std::optional<Found>();
  }
  Place inside{folder.inode, PathIn(place, name), place.line};
  inside.line.push_back(folder.identity);
  for (const Format* format : Formats()) {
    if (format->folder_index.empty()) continue;
    Maybe<Found> seen = SeeContained(inside, format->folder_index, request);
    if (!seen || (*seen && !(*seen)->node.directory)) return seen;
  }
  return std::optional<Found>();
}

Result<bool> Mirror::IsOutermost(const Place& place, const Found& found,
                                 std::string_view name,
                                 const Request& request) const {
  const bool container = CTXFS_TRY(
      detector_.HoldsContainer(*directory_, found.item, name, request));
  if (!container || place.path.empty()) return container;
  const Directory::Item above =
      CTXFS_TRY(directory_->FindDirectory(place.path, request));
  const bool inner =
      CTXFS_TRY(detector_.HoldsContainer(*directory_, above, "", request));
  return !inner;
}

Maybe<Mirror::Found> Mirror::SeeFile(const Place& place, std::string_view name,
                                     bool probe, const Request& request) const {
  std::optional<Directory::Item> found =
      CTXFS_TRY(directory_->Find(PathIn(place, name), request));
  if (!found) return std::optional<Found>();
  Directory::Item& item = *found;
  // A link to a directory above itself would make the tree infinite.
  if (item.directory && Loops(place, item.identity)) {
    return std::optional<Found>();
  }
  Result<Kind> kind = Kind::kDirectory;
  const bool link = !item.link.empty();
  if (link) kind = Kind::kFile;
  if (!link && (!item.directory || probe)) {
    kind = detector_.Of(*directory_, item, request);
  }
  if (!kind) return std::move(kind).error();
  const Node node = NodeOf(place, name, item, *kind);
  return std::optional(Found{node, std::move(item)});
}

Maybe<Mirror::Node> Mirror::Lookup(Inode directory, std::string_view name,
                                   const Request& request) {
  const Place place = CTXFS_TRY(PlaceOf(directory));
  // Watches before looking up, so that no change after the look-up is missed.
  directory_->Watch(directory, place.path);
  std::optional<Found> seen =
      CTXFS_TRY(See(place, name, /*probe=*/true, request));
  if (!seen) return std::optional<Node>();
  Node node = seen->node;
  const MutexLock lock(mutex_);
  node.inode = HeldAs(directory, name, node.inode);
  while (true) {
    const auto [at, added] = held_.try_emplace(
        node.inode, Held{directory, std::string(name), node, 0});
    Held& held = at->second;
    if (added || held.Is(directory, name, node)) {
      held.NoteName(directory, name);
      held.node = node;
      held.NoteSize(node.identity.size);
      ++held.count;
      if (!held.sources.empty()) NoteOpenNames(node.inode, held);
      NoteFound({directory, std::string(name)},
                Found{node, std::move(seen->item)}, request.caller());
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
    for (Name& name : found->second.Names()) {
      open_names_.erase({std::move(name), inode});
    }
    // Closes files that were found for an open that the kernel may never
    // repeat. The retries themselves stay, because the kernel may look the name
    // up again before it repeats the open.
    for (auto& [caller, retry] : retries_) {
      if (retry.found != nullptr && retry.found->node.inode == inode) {
        retry.found = nullptr;
      }
    }
    held_.erase(found);
    listed_.erase(inode);
  }
  kept_.Drop(inode);
  directory_->Unwatch(inode);
  return true;
}

std::vector<Mirror::Name> Mirror::HeldNames() const {
  std::vector<Name> names;
  const MutexLock lock(mutex_);
  names.reserve(held_.size());
  for (const auto& [inode, held] : held_) {
    names.emplace_back(held.parent, held.name);
    names.insert(names.end(), held.others.begin(), held.others.end());
  }
  return names;
}

std::vector<Inode> Mirror::OpenInodes() const {
  std::vector<Inode> files;
  const MutexLock lock(mutex_);
  for (const auto& [inode, held] : held_) {
    if (held.node.kind == Kind::kFile) files.push_back(inode);
  }
  return files;
}

void Mirror::TellChanges(Changed changed) {
  // A new look-up of a name does not update the kernel's attributes, such as
  // the size, of a file that was opened by that name. So such files are
  // reported, too.
  const auto tell = [this, changed](Inode directory, const std::string& name) {
    for (const Inode file : OpenedBy({directory, name})) changed(file, "");
    changed(directory, name);
  };
  const auto lost = [this, changed] {
    for (const Inode file : OpenInodes()) changed(file, "");
    for (const auto& [directory, name] : HeldNames()) changed(directory, name);
  };
  directory_->SetListener({tell, lost});
}

void Mirror::StopTelling() { directory_->StopWatching(); }

bool Mirror::StillIs(const Node& held, const Node& now) {
  if (!held.identity.SameFile(now.identity) ||
      held.directory != now.directory) {
    return false;
  }
  // The kind of a directory is not compared, because it was not probed again.
  if (!now.directory && held.kind != now.kind) return false;
  return held.kind != Kind::kContainer ||
         held.identity.EqualButForCtime(now.identity);
}

Result<Mirror::Found> Mirror::Find(Inode inode, const Request& request) const {
  Node held;
  std::vector<Name> names;
  {
    const MutexLock lock(mutex_);
    const auto found = held_.find(inode);
    if (found == held_.end() || found->second.retired) return FileIsGone();
    held = found->second.node;
    constexpr size_t kMaxTried = 16;
    names = found->second.Names(kMaxTried);
  }
  Result<Found> found = FileIsGone();
  for (const Name& name : names) {
    found = FindAs(inode, held, name, request);
    if (found || found.error().code != Code::kStale) break;
  }
  return found;
}

Result<Mirror::Found> Mirror::FindAs(Inode inode, const Node& held,
                                     const Name& name,
                                     const Request& request) const {
  const Place place = CTXFS_TRY(PlaceOf(name.first));
  std::optional<Found> seen =
      CTXFS_TRY(See(place, name.second, /*probe=*/false, request));
  if (!seen || !StillIs(held, seen->node)) return FileIsGone();
  Node& node = seen->node;
  node.inode = inode;
  node.kind = held.kind;
  return std::move(*seen);
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
  // Skips up to 8 retired inodes of the name. Between them there may be gaps:
  // inodes that the kernel has forgotten.
  constexpr int kMaxGone = 8;
  Inode after = inode;
  for (int i = 0; any_retired_ && i < kMaxGone; ++i, after = After(after)) {
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

bool Mirror::WasToldSize(Inode inode, uint64_t size) const {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  return found != held_.end() && !found->second.resized &&
         found->second.size == size;
}

void Mirror::NoteSize(Inode inode, uint64_t size) {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  if (found != held_.end()) found->second.NoteSize(size);
}

Inode Mirror::Parent(Inode inode) const {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  return found == held_.end() ? kRootInode : found->second.parent;
}

std::string Mirror::PathOf(Inode inode) const {
  std::string path;
  const MutexLock lock(mutex_);
  while (inode != kRootInode) {
    const auto found = held_.find(inode);
    if (found == held_.end()) break;
    if (!path.empty()) path.insert(0, 1, '/');
    path.insert(0, found->second.name);
    inode = found->second.parent;
  }
  return path;
}

}  // namespace ctxfs
