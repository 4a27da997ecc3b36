// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/io/source.h"

namespace ctxfs {

/// Passes everything on to another source and digests all that is read through
/// it until Seal: bytes, names of directories, and which files were opened
/// beside it; of the first read, which probes, only the first 64 bytes. Two
/// openings of a container that read the same built the same, so equal digests
/// mean equal names, sizes and checksums.
class DigestingSource final : public Source {
 public:
  explicit DigestingSource(std::shared_ptr<const Source> source);

  /// Ends the recording: the container is open.
  void Seal();
  std::optional<uint64_t> opening_digest() const override;

  uint64_t size() const override { return source_->size(); }
  uint64_t stored_size() const override { return source_->stored_size(); }
  FileTime mtime() const override { return source_->mtime(); }
  std::optional<ReadAccess> read_access() const override {
    return source_->read_access();
  }
  FileIdentity identity() const override { return source_->identity(); }
  std::string name() const override { return source_->name(); }
  bool is_directory() const override { return source_->is_directory(); }
  Status ReadAt(uint64_t offset, MutableBytes out) const override;
  Status CheckUnchanged() const override { return source_->CheckUnchanged(); }
  Result<std::shared_ptr<const Source>> Renew() const override {
    return source_->Renew();
  }
  Result<std::vector<DirectoryEntry>> List() const override;
  Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& path) const override;
  Result<std::shared_ptr<const Source>> OpenSibling(
      const std::string& path) const override;
  Result<std::shared_ptr<const Source>> OpenDirectoryBeside(
      const std::string& path) const override;

 private:
  class Recorder;

  DigestingSource(std::shared_ptr<const Source> source,
                  std::shared_ptr<Recorder> recorder);
  /// Records the outcome of opening `path`, and what is read from it.
  Result<std::shared_ptr<const Source>> Record(
      const std::string& path,
      Result<std::shared_ptr<const Source>> opened) const;

  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<Recorder> recorder_;
  mutable std::atomic<bool> probed_ = false;
};

}  // namespace ctxfs
