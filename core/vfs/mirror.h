// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/identity.h"
#include "core/vfs/attributes.h"
#include "core/vfs/kinds.h"

namespace ctxfs {

/// Directories of the system as the mount shows them (docs/tree.md, section 1):
/// sub-directories, containers, and other regular files; links as what they
/// lead to. Whatever else there is does not appear and is never opened. Nothing
/// is kept but what the kernel has looked up and not yet forgotten. Safe for
/// any number of threads.
class Mirror {
 public:
  static constexpr Inode kRoot = 1;
  /// Inodes of mirrored files have this bit, and no others.
  static constexpr Inode kBit = Inode{1} << 63;

  /// A name at the top, and the absolute path of what it shows.
  struct Top {
    std::string name;
    std::string path;
  };

  struct Options {
    /// Where the mount is; it is never shown in itself.
    std::string mount_point;
    /// Links that lead out of the sources are not followed.
    bool confined = false;
  };

  /// What is known of a mirrored file or directory.
  struct Node {
    Inode inode = 0;
    Inode parent = 0;
    std::string path;  // of the system, absolute
    Kind kind = Kind::kFile;
    FileIdentity identity;
    Permissions permissions;
  };

  /// Shows the directory at `path` at the mount's root.
  Mirror(std::string path, Options options);
  /// Shows `tops` there.
  Mirror(std::vector<Top> tops, Options options);

  /// What `name` is in `directory`: the mount's root, or one of ours. Counts as
  /// a look-up of the kernel's, until Forget. Nothing for what is not there.
  Result<std::optional<Node>> Lookup(Inode directory, std::string_view name);

  /// Takes back `count` look-ups; whether the inode is now unknown.
  bool Forget(Inode inode, uint64_t count);

  /// What an inode is now; kStale when it is something else or nothing.
  Result<Node> Find(Inode inode) const;

  /// Says that the file at `inode` is being opened as `identity`; whether it
  /// was the same when it was last opened.
  bool Reopen(Inode inode, const FileIdentity& identity);

  /// Everything in `directory`, in no order.
  Result<std::vector<std::pair<std::string, Node>>> List(Inode directory) const;

  /// The directory that `inode` is in, as it was looked up; kRoot if unknown.
  Inode Parent(Inode inode) const;

  /// Modification time of the root, in nanoseconds since 1970, at mount.
  int64_t mtime_ns() const { return root_identity_.mtime_ns; }

  /// Those of the directory that is shown at the root; nothing for several.
  std::optional<Permissions> RootPermissions() const;

  /// Below the mount's root: "a/b.mcf"; for messages.
  std::string PathOf(Inode inode) const;

 private:
  /// A node that the kernel holds.
  struct Held {
    Inode parent;
    std::string name;
    Kind kind;
    FileIdentity identity;
    uint64_t count;
    FileIdentity opened = {};  // as what it was last opened
  };

  /// Where a directory is, and which directories it lies in, itself included.
  struct Place {
    Inode inode;
    std::string path;  // empty: the top, of which tops_ tell
    std::vector<FileIdentity> line;
  };

  /// kStale for an inode that the kernel does not hold.
  Result<Place> PlaceOf(Inode directory) const;
  /// The path of what is called `name`; empty for nothing.
  std::string PathIn(const Place& place, std::string_view name) const;
  /// What `name` is, if it is anything that is shown.
  Result<std::optional<Node>> See(const Place& place,
                                  const std::string& name) const;
  /// The same for what is known to be a regular file, and no link.
  std::optional<Node> SeeFile(const Place& place, const std::string& name,
                              int directory_fd) const;
  Node NodeOf(const Place& place, const std::string& name,
              const struct stat& st, Kind kind) const;
  /// Whether everyone who sees the sources comes to where a link leads.
  bool LeadsEveryoneTo(const std::string& real_path) const;
  bool Shows(const std::string& real_path) const;

  const std::vector<Top> tops_;  // empty: root_ is what is shown
  const std::string root_;
  const Options options_;
  FileIdentity root_identity_;
  std::vector<std::string> real_roots_;
  mutable Kinds kinds_;
  mutable Mutex mutex_;
  std::unordered_map<Inode, Held> held_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
