// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/io/source.h"

namespace ctxfs {

/// What a test does to the reads of a MemoryFolder: the store that fails.
class Tamper {
 public:
  virtual ~Tamper() = default;
  /// After `out` was filled with the bytes at `offset`.
  virtual Status OnRead(uint64_t offset, MutableBytes out) = 0;
  virtual Status OnCheck() = 0;
  /// Before a file is opened beside another, or a directory listed.
  virtual Status OnOpen() = 0;
};

/// A directory tree in memory: containers that are directories, and those that
/// open what is beside them. Paths are relative, with slashes.
class MemoryFolder : public std::enable_shared_from_this<MemoryFolder> {
 public:
  using Bytes = std::map<std::string, std::shared_ptr<const std::string>>;

  explicit MemoryFolder(Bytes files, std::shared_ptr<Tamper> tamper = nullptr)
      : files_(std::move(files)), tamper_(std::move(tamper)) {}

  /// The file or directory at `path`; the root at "".
  Result<std::shared_ptr<const Source>> Open(const std::string& path) const;

  /// The one at `path` below `directory`: kCorrupt for a path that leads out of
  /// it, as RESOLVE_BENEATH has it.
  Result<std::shared_ptr<const Source>> OpenBeneath(
      const std::string& directory, const std::string& path,
      bool want_directory) const;

  const Bytes& files() const { return files_; }
  Tamper* tamper() const { return tamper_.get(); }

 private:
  Bytes files_;
  std::shared_ptr<Tamper> tamper_;
};

}  // namespace ctxfs
