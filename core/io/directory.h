// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/io/source.h"

namespace ctxfs {

/// A directory, for containers of several files. It has no bytes; its files are
/// opened beneath it, and each detects its own changes.
class DirectorySource final : public Source {
 public:
  /// Fails like SystemError if `path` cannot be opened, and with kIo if it is
  /// not a directory.
  static Result<SourcePtr> Open(const std::string& path,
                                const SourceOptions& options = {});

  uint64_t size() const override { return 0; }
  FileTime mtime() const override { return identity_.mtime; }
  FileIdentity identity() const override { return identity_; }
  /// Fails with kStale if the path now leads to another directory, if a file in
  /// it was replaced, or without watch_ctime. The renewed source lists the same
  /// names as this one, so that a directory whose files are being removed stays
  /// readable.
  Result<SourcePtr> Renew() const override;
  std::optional<ReadAccess> read_access() const override {
    return read_access_;
  }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  bool is_directory() const override { return true; }
  Status CheckAllUnchanged() const override;
  bool asked_others() const override { return true; }

  /// Sorted by name. A link counts as its target within this directory; a link
  /// that leads out of it is no directory. Fails with kLimit for more names
  /// than limits::kDirectoryNames. With watch_ctime, later calls return the
  /// first list.
  Result<std::vector<DirectoryEntry>> List(
      const Request& request) const override;
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override;
  Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                        const Request& request) const override;

 private:
  Result<std::vector<DirectoryEntry>> ListOnce() const;
  Result<SourcePtr> OpenDirectoryOnce(const std::string& path) const;

  DirectorySource(std::string path, const FileIdentity& identity,
                  const SourceOptions& options, const ReadAccess& readers,
                  std::shared_ptr<Companions> companions);

  const std::string path_;  // absolute, ending in a slash
  const FileIdentity identity_;
  const SourceOptions options_;
  const ReadAccess read_access_;
  const std::shared_ptr<Companions> companions_;
  mutable Mutex mutex_;
  /// The first listing, which List then repeats; with watch_ctime only.
  mutable std::optional<std::vector<DirectoryEntry>> listed_
      CTXFS_GUARDED_BY(mutex_);
};

/// Opens the file, directory or URL `path`.
Result<SourcePtr> OpenSource(const std::string& path,
                             const SourceOptions& options = {},
                             const Request& request = Request());

}  // namespace ctxfs
