// SPDX-License-Identifier: Apache-2.0
//
// How a Mirror lists directories of the system.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/io/io_error.h"
#include "core/io/mount_guard.h"
#include "core/io/walk.h"
#include "core/vfs/mirror.h"

namespace ctxfs {
namespace {

using Type = DirectorySnapshot::Type;

/// The inode of a name whose kind cannot be found out now.
constexpr Inode kUnknownInode = UINT32_MAX;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

Type TypeOf(Kind kind) {
  return kind == Kind::kFile ? Type::kFile : Type::kDirectory;
}

}  // namespace

/// Takes the snapshot of one directory. No sub-directory is opened, and nothing
/// that is mounted by ctxfs is sent a request.
class Mirror::Lister {
 public:
  Lister(const Mirror& mirror, const Place& place, const ReadContext& context)
      : mirror_(mirror), place_(place), context_(context) {}

  Result<DirectorySnapshot> ListTops() {
    for (const Top& top : mirror_.tops_) {
      if (Status added = AddSeen(top.name); !added) return added.error();
    }
    return std::move(snapshot_);
  }

  Result<DirectorySnapshot> List(const Fd& found) {
    const std::unique_ptr<DIR, CloseDir> dir(
        ::opendir(found.proc_path().c_str()));
    struct stat st {};
    if (dir == nullptr || ::fstat(::dirfd(dir.get()), &st) != 0) {
      return IoError("cannot be listed");
    }
    fd_ = ::dirfd(dir.get());
    device_ = st.st_dev;
    real_path_ = found.real_path();
    snapshot_.Reserve();
    while (true) {
      errno = 0;
      const struct dirent* one = ::readdir(dir.get());
      if (one == nullptr && errno != 0) return IoError("cannot be listed");
      if (one == nullptr) break;
      if (Status added = Add(one->d_name, one->d_type); !added) {
        return added.error();
      }
    }
    snapshot_.ShrinkToFit();
    return std::move(snapshot_);
  }

 private:
  Status Add(const std::string& name, unsigned char type) {
    if (Status interrupted = context_.Check(); !interrupted) return interrupted;
    if (name == "." || name == "..") return {};
    if (mirror_.options_.confined) return AddSeen(name);
    if (type == DT_REG) return AddFile(name);
    if (type == DT_DIR) return AddDirectory(name);
    if (type == DT_LNK || type == DT_UNKNOWN) return AddSeen(name);
    return {};
  }

  Status Put(const std::string& name, Inode inode, Type type) {
    if (snapshot_.Add(inode, name, type)) return {};
    return Error{Code::kLimit, "the directory has more than 4 GiB of names"};
  }

  /// A file whose type is known from the directory, and that is no link.
  Status AddFile(const std::string& name) {
    if (!MayExamine(name)) return {};
    struct stat st {};
    if (::fstatat(fd_, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Status()
                             : Put(name, kUnknownInode, Type::kUnknown);
    }
    if (!S_ISREG(st.st_mode)) return {};
    const FileIdentity identity = FileIdentity::Of(st);
    const Result<Kind> kind = mirror_.detector_.Of(
        "/proc/self/fd/" + std::to_string(fd_) + "/" + name, identity, false);
    if (!kind) return Put(name, kUnknownInode, Type::kUnknown);
    Status put =
        Put(name, InodeOf(place_.inode, name, identity, *kind), TypeOf(*kind));
    return put && *kind == Kind::kFile ? AddInside(name) : put;
  }

  /// NAME~dir of a file that is a container, unless something has that name.
  Status AddInside(const std::string& file) {
    if (!mirror_.options_.list_inside) return {};
    const std::string name = file + std::string(kInside);
    if (name.size() > limits::kComponentBytes) return {};
    const auto taken = mirror_.SeeFile(place_, name, /*probe=*/false);
    if (!taken || *taken) return {};
    const auto inside = mirror_.SeeInside(place_, name);
    if (!inside || !*inside) return {};
    return Put(name, (*inside)->node.inode, Type::kDirectory);
  }

  Status AddDirectory(const std::string& name) {
    const std::optional<FileIdentity> identity = Identify(name);
    if (!identity || MountGuard::Forbids(identity->device) ||
        Loops(place_, *identity) || !mirror_.Shows(real_path_ + "/" + name)) {
      return {};
    }
    return Put(name, InodeOf(place_.inode, name, *identity, Kind::kDirectory),
               Type::kDirectory);
  }

  /// A name that must be followed to know what it is.
  Status AddSeen(const std::string& name) {
    const Maybe<Found> seen = mirror_.See(place_, name, /*probe=*/false);
    // A name that cannot be examined now is listed all the same.
    if (!seen) return Put(name, kUnknownInode, Type::kUnknown);
    if (!*seen) return {};
    const Node& node = (*seen)->node;
    Status put = Put(name, node.inode, TypeOf(node.kind));
    return put && node.kind == Kind::kFile ? AddInside(name) : put;
  }

  /// Which file or directory `name` is, without asking a file system that is
  /// mounted there.
  std::optional<FileIdentity> Identify(const std::string& name) const {
    struct statx st {};
    constexpr int kFlags =
        AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    if (::statx(fd_, name.c_str(), kFlags, STATX_TYPE | STATX_INO, &st) != 0) {
      return std::nullopt;
    }
    FileIdentity identity;
    identity.device = ::makedev(st.stx_dev_major, st.stx_dev_minor);
    identity.inode = st.stx_ino;
    return identity;
  }

  /// A file may be a mount point as well.
  bool MayExamine(const std::string& name) const {
    const std::optional<FileIdentity> identity = Identify(name);
    return identity && (identity->device == device_ ||
                        !MountGuard::Forbids(identity->device));
  }

  const Mirror& mirror_;
  const Place& place_;
  const ReadContext& context_;
  DirectorySnapshot snapshot_;
  int fd_ = -1;
  dev_t device_ = 0;
  std::string real_path_;
};

std::shared_ptr<Mirror::Listed> Mirror::ListedAt(Inode directory) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Listed>& listed = listed_[directory];
  if (listed == nullptr) listed = std::make_shared<Listed>();
  return listed;
}

Result<std::shared_ptr<const DirectorySnapshot>> Mirror::List(
    Inode directory, const ReadContext& context) {
  // A directory's times do not tell when a file in it becomes a container.
  constexpr std::chrono::seconds kMoment(1);
  const Result<Place> place = PlaceOf(directory);
  if (!place) return place.error();
  const bool top = place->path.empty();
  const Result<Fd> found =
      top ? Result<Fd>(Fd(-1)) : FindPath(place->path, O_DIRECTORY);
  if (!found) return found.error();
  struct stat st {};
  if (!top && ::fstat(found->get(), &st) != 0) {
    return IoError("cannot be examined");
  }
  const FileIdentity identity = FileIdentity::Of(st);

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
    Lister lister(*this, *place, shared);
    Result<DirectorySnapshot> taken =
        top ? lister.ListTops() : lister.List(*found);
    if (!taken) return std::move(taken).error();
    if (snapshot == nullptr || *snapshot != *taken) {
      snapshot = std::make_shared<const DirectorySnapshot>(std::move(*taken));
    }
    const MutexLock lock(mutex_);
    listed->snapshot = snapshot;
    listed->identity = identity;
    listed->taken = now;
    return {};
  };
  Status done =
      context.cache().Once({listed->taking, 0}, context, is_taken, take);
  if (!done) return std::move(done).error();
  return snapshot;
}

}  // namespace ctxfs
