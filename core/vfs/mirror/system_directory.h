// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/vfs/mirror/directory.h"
#include "core/vfs/mirror/directory_watch.h"

namespace ctxfs {

/// A directory of the system, or several files and directories of the system
/// under chosen names. File systems that ctxfs has mounted there receive no
/// request (MountGuard), and only regular files and directories are opened.
class SystemDirectory final : public Directory {
 public:
  /// A name at the top, and the absolute path of the file or directory there.
  struct Top {
    std::string name;
    std::string path;
  };

  struct Options {
    /// The mount point, which is never shown in its own mount.
    std::string mount_point = {};
    /// Whether other users see the directory. If so, ignores links that lead
    /// out of it, or through directories that not everyone may search.
    bool confined = false;
    /// Whether links that lead out of the directory are errors, except links of
    /// a download cache (core/io/download_cache.h).
    bool refuses_leaving = false;
    /// Whether changes are reported, by inotify.
    bool watched = false;
  };

  /// The directory at the absolute path `path`.
  SystemDirectory(std::string path, Options options);
  /// A directory whose names are `tops`.
  SystemDirectory(std::vector<Top> tops, Options options);

  FileIdentity identity() const override { return identity_; }
  bool is_for_others() const override { return options_.confined; }
  Maybe<Item> Find(const std::string& path,
                   const Request& request) const override;
  Result<Item> FindDirectory(const std::string& path,
                             const Request& request) const override;
  Status List(const Item& directory, const Visit& visit,
              const Request& request) const override;
  Result<SourcePtr> Open(const Item& item, const SourceOptions& options,
                         const Request& request) const override;
  std::optional<struct statvfs> FileSystemOf(
      const std::string& path) const override;
  void Watch(Inode inode, const std::string& path) override;
  void Unwatch(Inode inode) override;
  void SetListener(ChangeListener listener) override;
  void StopWatching() override;

 private:
  struct Opened;

  bool IsAllTops(const std::string& path) const {
    return path.empty() && !tops_.empty();
  }
  /// The absolute path; empty if no top has its first component.
  std::string AbsolutePath(const std::string& path) const;
  bool Shows(const std::string& real_path) const;
  bool IsInside(const std::string& real_path) const;
  /// Whether the link at `path`, in the directory or below it, belongs to a
  /// download cache and leads to `real_path`.
  bool LeadsToBlob(const std::string& path, const std::string& real_path) const;
  /// Whether everyone may search all directories on the way to a link target.
  bool LeadsEveryoneTo(const std::string& real_path) const;

  Status ListTops(const Visit& visit) const;
  Status VisitName(const Opened& opened, const std::string& name,
                   unsigned char type, const Visit& visit) const;
  static Status VisitFile(const Opened& opened, const std::string& name,
                          const Visit& visit);
  Status VisitDirectory(const Opened& opened, const std::string& name,
                        const Visit& visit) const;

  const std::vector<Top> tops_;  // empty: only root_
  const std::string root_;
  const Options options_;
  FileIdentity identity_;  // with several tops, only the latest mtime
  std::vector<std::string> real_roots_;
  const std::unique_ptr<DirectoryWatch> watch_;  // null: not watched
};

}  // namespace ctxfs
