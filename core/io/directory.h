// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/io/source.h"

namespace ctxfs {

/// A directory, for containers that are several files. It has no bytes; its
/// files are opened beneath it, and each of them watches over itself.
class DirectorySource final : public Source {
 public:
  /// Fails with kIo when `path` is no directory that can be opened.
  static Result<std::shared_ptr<const DirectorySource>> Open(
      const std::string& path, Audience audience = Audience::kMounter);

  uint64_t size() const override { return 0; }
  int64_t mtime_ns() const override { return mtime_ns_; }
  std::optional<Readers> readers() const override { return readers_; }
  Status ReadAt(uint64_t offset, MutableBytes out) const override;
  bool is_directory() const override { return true; }

  /// Sorted by name. A link counts as what it leads to, within this directory;
  /// one that leads elsewhere is no directory. kLimit for more names than
  /// limits::kDirectoryNames.
  Result<std::vector<DirectoryEntry>> List() const override;
  Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& path) const override;
  Result<std::shared_ptr<const Source>> OpenDirectoryBeside(
      const std::string& path) const override;

 private:
  Result<std::vector<DirectoryEntry>> ListOnce() const;
  Result<std::shared_ptr<const Source>> OpenDirectoryOnce(
      const std::string& path) const;

  DirectorySource(std::string path, int64_t mtime_ns, Audience audience,
                  const Readers& readers)
      : path_(std::move(path)),
        mtime_ns_(mtime_ns),
        audience_(audience),
        readers_(readers) {}

  std::string path_;  // absolute, ending in a slash
  int64_t mtime_ns_;
  Audience audience_;
  Readers readers_;
};

/// The file or directory at `path`.
Result<std::shared_ptr<const Source>> OpenSource(
    const std::string& path, Audience audience = Audience::kMounter);

}  // namespace ctxfs
