// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/io/source.h"

namespace ctxfs {

/// Forwards reads to another source and, until Seal, digests the results:
/// bytes, the names in directories, and which files were opened beside the
/// source. Of the first read, which recognises the format, only the first 64
/// bytes count. The result of opening a container depends only on these reads,
/// so equal digests mean equal names, sizes and checksums.
class DigestingSource final : public DerivedSource {
 public:
  explicit DigestingSource(SourcePtr source);

  /// Stops recording: the container is open.
  void Seal();
  std::optional<uint64_t> opening_digest() const override;

  uint64_t size() const override { return from().size(); }
  FileIdentity identity() const override { return from().identity(); }
  std::string name() const override { return from().name(); }
  int descriptor() const override { return from().descriptor(); }
  bool is_directory() const override { return from().is_directory(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  void Prefetch(std::span<const SourceRange> ranges) const override {
    from().Prefetch(ranges);
  }
  Result<SourcePtr> Renew() const override { return from().Renew(); }
  Result<std::vector<DirectoryEntry>> List(
      const Request& request) const override;
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override;
  Result<SourcePtr> OpenSibling(const std::string& path,
                                const Request& request) const override;
  Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                        const Request& request) const override;

 private:
  class Recorder;

  DigestingSource(SourcePtr source, std::shared_ptr<Recorder> recorder);
  /// Records the result of opening `path`, and later reads from it.
  Result<SourcePtr> Record(const std::string& path,
                           Result<SourcePtr> opened) const;

  const std::shared_ptr<Recorder> recorder_;
  mutable std::atomic<bool> probed_ = false;
};

}  // namespace ctxfs
