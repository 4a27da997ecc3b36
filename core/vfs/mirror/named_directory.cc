// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/named_directory.h"

#include <cerrno>
#include <set>
#include <utility>

#include "core/io/urls/url_store.h"

namespace ctxfs {
namespace {

/// The identity of a name without a file; the same in every mount.
FileIdentity IdentityOfName(const std::string& path) {
  return IdentityOfDirectory("names:" + path);
}

}  // namespace

Directory::Item NamedDirectory::DirectoryAt(const std::string& path,
                                            const Request& request) const {
  Item item;
  item.directory = true;
  item.identity = path.empty() ? identity() : IdentityOfName(path);
  item.identity.mtime = identity().mtime;
  item.path = path;
  const Result<Item> root = raw_->FindDirectory("", request);
  if (root) item.permissions = root->permissions;
  return item;
}

Directory::Item NamedDirectory::LinkAt(const std::string& path,
                                       const std::string& target,
                                       const Request& request) const {
  Item item = DirectoryAt(path, request);
  item.directory = false;
  // A link with another target has another identity.
  item.identity = IdentityOfName(path + "//" + target);
  item.identity.size = target.size();
  item.identity.mtime = identity().mtime;
  item.link = target;
  return item;
}

Maybe<Directory::Item> NamedDirectory::Find(const std::string& path,
                                            const Request& request) const {
  if (path.empty()) return std::optional(DirectoryAt(path, request));
  const Place place = CTXFS_TRY(names_->Find(*raw_, path, request));
  switch (place.kind) {
    case Place::Kind::kRaw:
      return raw_->Find(place.text, request);
    case Place::Kind::kDirectory:
      return std::optional(DirectoryAt(path, request));
    case Place::Kind::kLink:
      return std::optional(LinkAt(path, place.text, request));
    default:
      return raw_->Find(path, request);
  }
}

Result<Directory::Item> NamedDirectory::FindDirectory(
    const std::string& path, const Request& request) const {
  if (path.empty()) return DirectoryAt(path, request);
  const Place place = CTXFS_TRY(names_->Find(*raw_, path, request));
  if (place.kind == Place::Kind::kDirectory) return DirectoryAt(path, request);
  if (place.kind == Place::Kind::kLink) {
    return Error{Code::kIo, "is no directory", kNoOffset, ENOTDIR};
  }
  const bool named = place.kind == Place::Kind::kRaw;
  return raw_->FindDirectory(named ? place.text : path, request);
}

Status NamedDirectory::List(const Item& directory, const Visit& visit,
                            const Request& request) const {
  if (directory.fd.ok()) return raw_->List(directory, visit, request);
  std::set<std::string, std::less<>> seen;
  const std::string above = directory.path.empty() ? "" : directory.path + "/";
  CTXFS_TRY(names_->List(
      *raw_, directory.path,
      [&](std::string_view name, const Place& place) -> Status {
        if (!seen.emplace(name).second) return {};
        if (place.kind != Place::Kind::kDirectory) {
          return visit({name, Name::Type::kAsFound});
        }
        Item item;
        item.directory = true;
        item.identity = IdentityOfName(above + std::string(name));
        return visit({name, Name::Type::kDirectory, std::move(item)});
      },
      request));
  if (!directory.path.empty()) return {};
  const Item root = CTXFS_TRY(raw_->FindDirectory("", request));
  return raw_->List(
      root,
      [&](const Name& name) -> Status {
        if (names_->Hides(name.name) || seen.contains(name.name)) return {};
        return visit(name);
      },
      request);
}

void NamedDirectory::Watch(Inode inode, const std::string& path) {
  Result<Place> place = Place{Place::Kind::kDirectory};
  if (!path.empty()) place = names_->Find(*raw_, path, Request());
  if (!place) return;
  if (place->kind == Place::Kind::kRaw) return raw_->Watch(inode, place->text);
  if (place->kind != Place::Kind::kDirectory) return raw_->Watch(inode, path);
  const std::optional<std::string> watched = names_->WatchedFor(path);
  if (!watched) return;
  {
    const MutexLock lock(mutex_);
    watched_[inode] = path;
  }
  raw_->Watch(inode, *watched);
}

void NamedDirectory::Unwatch(Inode inode) {
  {
    const MutexLock lock(mutex_);
    watched_.erase(inode);
  }
  raw_->Unwatch(inode);
}

void NamedDirectory::SetListener(ChangeListener listener) {
  auto changed = [this, tell = listener.changed](Inode inode,
                                                 const std::string& name) {
    std::string path;
    bool named = false;
    {
      const MutexLock lock(mutex_);
      const auto found = watched_.find(inode);
      named = found != watched_.end();
      if (named) path = found->second;
    }
    tell(inode, name);
    if (!named || name.empty()) return;
    const std::string own = names_->ChangedName(path, name);
    if (!own.empty() && own != name) tell(inode, own);
  };
  raw_->SetListener({std::move(changed), std::move(listener.lost)});
}

}  // namespace ctxfs
