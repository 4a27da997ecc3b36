// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/identity.h"

namespace ctxfs {

/// What a file of the system is to a mount.
enum class Kind : uint8_t { kDirectory, kFile, kContainer };

/// Tells containers from other files by their first bytes, and from other
/// directories by what is in them; the answers are kept while nothing changes.
/// Safe for any number of threads.
class ContainerDetector {
 public:
  /// Returns what the regular file or directory at `path` is; `identity` is
  /// its own. A file that the daemon may not open is a plain file. Fails when
  /// that cannot be found out now: kTooManyFiles, kNoMemory, or kIo for EIO.
  Result<Kind> Of(const std::string& path, const FileIdentity& identity,
                  bool directory);

  /// Whether the regular file at `path`, which is called `name`, is a
  /// container, be it one that stays a file. Fails as Of does.
  Result<bool> HoldsContainer(const std::string& path,
                              const FileIdentity& identity,
                              std::string_view name);

 private:
  struct Known {
    Kind kind = Kind::kFile;
    bool container = false;
    bool container_if_named = false;
  };

  static Result<Known> Probe(const std::string& path, bool directory);
  Result<Known> Find(const std::string& path, const FileIdentity& identity,
                     bool directory);

  struct Hash {
    size_t operator()(const FileIdentity& identity) const;
  };

  Mutex mutex_;
  std::unordered_map<FileIdentity, Known, Hash> known_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
