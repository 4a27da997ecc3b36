// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/identity.h"
#include "core/vfs/mirror/directory.h"

namespace ctxfs {

/// The kind of a file of a Directory.
enum class Kind : uint8_t { kDirectory, kFile, kContainer };

/// Distinguishes containers from other files by their first bytes, and from
/// other directories by their files. Answers for files are cached until the
/// file changes. Safe for any number of threads.
class ContainerDetector {
 public:
  /// Returns the kind of a file or directory of `in`. A file that the daemon
  /// may not open is a plain file. Fails only on transient errors:
  /// kTooManyFiles, kNoMemory, kInterrupted, or kIo for EIO, EAGAIN (a server
  /// does not answer) or ENETDOWN (offline).
  Result<Kind> Of(const Directory& in, const Directory::Item& item,
                  const Request& request);

  /// The kind of `item` without reading it; nullopt if it has to be read.
  std::optional<Kind> Known(const Directory::Item& item) const;

  /// Whether the regular file or directory `name` of `in` is a container,
  /// including formats with Traits::stays_file. Fails like Of.
  Result<bool> HoldsContainer(const Directory& in, const Directory::Item& file,
                              std::string_view name, const Request& request);

 private:
  struct Answer {
    Kind kind = Kind::kFile;
    bool container = false;
    bool container_if_named = false;
  };

  static Result<Answer> Probe(const Directory& in, const Directory::Item& item,
                              const Request& request);
  Result<Answer> Find(const Directory& in, const Directory::Item& item,
                      const Request& request);

  struct Hash {
    size_t operator()(const FileIdentity& identity) const;
  };

  mutable Mutex mutex_;
  std::unordered_map<FileIdentity, Answer, Hash> known_
      CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
