// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/zip/zip.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// Shows the members of an archive as files beside it, so that formats whose
/// containers are directories can open an archive of such a directory. Its own
/// bytes are those of the archive.
class ArchiveSource final : public DerivedSource {
 public:
  explicit ArchiveSource(std::shared_ptr<const Archive> archive);

  uint64_t size() const override { return from().size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    return from().ReadAt(offset, out, request);
  }
  void Prefetch(std::span<const SourceRange> ranges) const override {
    from().Prefetch(ranges);
  }
  std::string name() const override { return from().name(); }
  FileIdentity identity() const override { return from().identity(); }
  int descriptor() const override { return from().descriptor(); }
  std::optional<uint64_t> opening_digest() const override {
    return from().opening_digest();
  }
  Result<SourcePtr> Renew() const override { return from().Renew(); }
  /// False even if the archive is remote, because members are not objects of
  /// their own.
  bool is_remote() const override { return false; }
  bool is_directory() const override { return directory_; }
  Result<std::vector<DirectoryEntry>> List(
      const Request& request) const override;
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override;
  Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                        const Request& request) const override;

 private:
  using Index = std::vector<uint32_t>;

  /// The directory of the members whose names start with `prefix`.
  ArchiveSource(const ArchiveSource& whole, std::string prefix);

  /// The first member whose name is not before `name`.
  Index::const_iterator LowerBound(std::string_view name) const;
  /// Whether the member is a file or directory below `prefix`.
  bool IsBelow(Index::const_iterator at, std::string_view prefix) const;

  const std::shared_ptr<const Archive> archive_;
  const std::shared_ptr<const Index> by_name_;
  const std::string prefix_ = {};
  const bool directory_ = false;
};

/// Whether an archive has a file of this name at its root.
bool HasRootFile(const Directory& directory, std::string_view name);

}  // namespace ctxfs::zip
