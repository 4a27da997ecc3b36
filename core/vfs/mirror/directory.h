// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/statvfs.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/io/identity.h"
#include "core/io/source.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

struct ChangeListener {
  /// `name` in `directory` may be another file now, or have other attributes.
  /// An empty name stands for the directory itself.
  std::function<void(Inode directory, const std::string& name)> changed;
  /// Changes were lost because there were too many.
  std::function<void()> lost;
};

/// A directory and everything below it, in a file system (SystemDirectory) or
/// an object store (StoreDirectory). Paths are relative to it, "a/b"; the empty
/// path is the directory itself. Safe for any number of threads.
class Directory {
 public:
  /// A file or directory that was found but not opened.
  struct Item {
    bool directory = false;
    FileIdentity identity = {};
    /// Its owner and the bits 0555 of its mode; nullopt if it has no owner.
    std::optional<Permissions> permissions = std::nullopt;
    /// Number of a file's hard links, all of which have its identity.
    uint32_t names = 1;
    /// Open uses `fd` if it is valid, otherwise `path`. With an `fd`, `path` is
    /// for messages and for finding files beside it. If the file was found
    /// through a symbolic link, `path` is that of the link.
    Fd fd = Fd(-1);
    std::string path = {};
    /// The target, for a symbolic link that is shown as a link; else empty.
    std::string link = {};
  };

  struct Name {
    enum class Type : uint8_t {
      kFile,       // `item` is set, but not its permissions
      kFarFile,    // like kFile, but reading its first bytes would take long
      kDirectory,  // `item` may have only device and inode
      kAsFound,    // only Find can tell its type, and whether it is shown
      kUnknown,    // cannot be examined now
    };
    std::string_view name;
    Type type;
    Item item = {};
  };
  using Visit = std::function<Status(const Name& name)>;

  Directory() = default;
  virtual ~Directory() = default;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /// The identity of the directory itself when this object was made.
  virtual FileIdentity identity() const = 0;

  /// Whether users other than the mounting one see it.
  virtual bool is_for_others() const { return false; }

  /// Returns the regular file or directory at `path`, following links except
  /// those that are shown as links (Item::link); nullopt if there is none or it
  /// must not be shown.
  virtual Maybe<Item> Find(const std::string& path,
                           const Request& request) const = 0;

  /// Returns the directory at `path` for List.
  virtual Result<Item> FindDirectory(const std::string& path,
                                     const Request& request) const = 0;

  /// Calls `visit` for each name in a directory, in any order, until `visit`
  /// fails. Opens no directory below.
  virtual Status List(const Item& directory, const Visit& visit,
                      const Request& request) const = 0;

  /// Opens a file, or a directory as the source of a container.
  virtual Result<SourcePtr> Open(const Item& item, const SourceOptions& options,
                                 const Request& request) const = 0;

  /// Returns the statistics of the file system of `path`. If the directory has
  /// files of several file systems, the empty path stands for the first.
  /// nullopt if there is none.
  virtual std::optional<struct statvfs> FileSystemOf(
      const std::string& /*path*/) const {
    return std::nullopt;
  }

  /// Reports changes in the directory at `path`, which the mount shows as
  /// `inode`, until Unwatch. Best effort; by default nothing is reported.
  virtual void Watch(Inode /*inode*/, const std::string& /*path*/) {}
  virtual void Unwatch(Inode /*inode*/) {}
  /// Sets the listener, which is called in a background thread without a lock.
  virtual void SetListener(ChangeListener /*listener*/) {}
  /// Prevents further reports from beginning. Returns at once, even during a
  /// report.
  virtual void StopWatching() {}
};

}  // namespace ctxfs
