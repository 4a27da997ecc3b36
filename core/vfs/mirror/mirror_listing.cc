// SPDX-License-Identifier: Apache-2.0
//
// How a Mirror lists directories.
#include <memory>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/vfs/mirror/mirror.h"

namespace ctxfs {
namespace {

using Type = DirectorySnapshot::Type;

/// The inode of a name whose kind cannot be determined now.
constexpr Inode kUnknownInode = UINT32_MAX;

Type TypeOf(Kind kind, bool link = false) {
  if (link) return Type::kLink;
  return kind == Kind::kFile ? Type::kFile : Type::kDirectory;
}

}  // namespace

class Mirror::Lister {
 public:
  Lister(const Mirror& mirror, const Place& place, const ReadContext& context)
      : mirror_(mirror), place_(place), context_(context) {}

  Result<DirectorySnapshot> List(const Directory::Item& directory) {
    snapshot_.Reserve();
    Status listed = mirror_.directory_->List(
        directory, [this](const Directory::Name& name) { return Add(name); },
        context_);
    if (!listed) return std::move(listed).error();
    snapshot_.ShrinkToFit();
    return std::move(snapshot_);
  }

 private:
  Status Add(const Directory::Name& name) {
    CTXFS_TRY(context_.Check());
    switch (name.type) {
      case Directory::Name::Type::kFile:
        return AddFile(name);
      case Directory::Name::Type::kFarFile:
        return AddFarFile(name);
      case Directory::Name::Type::kDirectory:
        return AddDirectory(name);
      case Directory::Name::Type::kAsFound:
        return AddSeen(name.name);
      case Directory::Name::Type::kUnknown:
        break;
    }
    return Put(name.name, kUnknownInode, Type::kUnknown);
  }

  Status Put(std::string_view name, Inode inode, Type type) {
    if (snapshot_.Add(inode, name, type)) return {};
    return Error{Code::kLimit, "the directory has more than 4 GiB of names"};
  }

  Status AddFile(const Directory::Name& file) {
    const Result<Kind> kind =
        mirror_.detector_.Of(*mirror_.directory_, file.item, context_);
    if (!kind) return Put(file.name, kUnknownInode, Type::kUnknown);
    const Node node = NodeOf(place_, file.name, file.item, *kind);
    Status put = Put(file.name, node.inode, TypeOf(*kind));
    return put && *kind == Kind::kFile ? AddInside(file.name) : put;
  }

  /// Adds a file whose first bytes take long to read. If its kind is unknown,
  /// only a look-up determines it.
  Status AddFarFile(const Directory::Name& file) {
    if (mirror_.detector_.Known(file.item)) return AddFile(file);
    return Put(file.name, kUnknownInode, Type::kUnknown);
  }

  /// Adds NAME~dir of a file that is a container, unless that name exists.
  Status AddInside(std::string_view file) {
    if (!mirror_.options_.list_inside) return {};
    const std::string name = std::string(file) + std::string(kInside);
    if (name.size() > limits::kComponentBytes) return {};
    const auto taken = mirror_.SeeFile(place_, name, /*probe=*/false, context_);
    if (!taken || *taken) return {};
    const auto inside = mirror_.SeeInside(place_, name, context_);
    if (!inside || !*inside) return {};
    return Put(name, (*inside)->node.inode, Type::kDirectory);
  }

  Status AddDirectory(const Directory::Name& directory) {
    if (Loops(place_, directory.item.identity)) return {};
    const Node node =
        NodeOf(place_, directory.name, directory.item, Kind::kDirectory);
    return Put(directory.name, node.inode, Type::kDirectory);
  }

  /// Adds a name whose kind only a look-up can tell, such as that of a link,
  /// unless it is not shown.
  Status AddSeen(std::string_view name) {
    const Maybe<Found> seen =
        mirror_.See(place_, name, /*probe=*/false, context_);
    // A name that cannot be examined now is listed nevertheless.
    if (!seen) return Put(name, kUnknownInode, Type::kUnknown);
    if (!*seen) return {};
    const Node& node = (*seen)->node;
    Status put = Put(name, node.inode, TypeOf(node.kind, node.link));
    return put && node.kind == Kind::kFile ? AddInside(name) : put;
  }

  const Mirror& mirror_;
  const Place& place_;
  const ReadContext& context_;
  DirectorySnapshot snapshot_;
};

std::shared_ptr<Mirror::Listed> Mirror::ListedAt(Inode directory) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Listed>& listed = listed_[directory];
  if (listed == nullptr) listed = std::make_shared<Listed>();
  return listed;
}

Result<std::shared_ptr<const DirectorySnapshot>> Mirror::List(
    Inode directory, const ReadContext& context) {
  // Maximum age of a snapshot. A file that becomes a container does not change
  // the mtime of its directory.
  constexpr std::chrono::seconds kMoment(1);
  const Place place = CTXFS_TRY(PlaceOf(directory));
  const Directory::Item found =
      CTXFS_TRY(directory_->FindDirectory(place.path, context));
  const FileIdentity& identity = found.identity;

  const std::shared_ptr<Listed> listed = ListedAt(directory);
  std::shared_ptr<const DirectorySnapshot> snapshot;
  const auto is_taken = [&] {
    const MutexLock lock(mutex_);
    snapshot = listed->snapshot.lock();
    return snapshot != nullptr && identity == listed->identity &&
           std::chrono::steady_clock::now() - listed->taken < kMoment;
  };
  const auto take = [&](const ReadContext& shared) -> Status {
    const auto now = std::chrono::steady_clock::now();
    Lister lister(*this, place, shared);
    DirectorySnapshot taken = CTXFS_TRY(lister.List(found));
    if (snapshot == nullptr || *snapshot != taken) {
      snapshot = std::make_shared<const DirectorySnapshot>(std::move(taken));
    }
    const MutexLock lock(mutex_);
    listed->snapshot = snapshot;
    listed->identity = identity;
    listed->taken = now;
    return {};
  };
  CTXFS_TRY(context.cache().Once({listed->taking, 0}, context, is_taken, take));
  return snapshot;
}

}  // namespace ctxfs
