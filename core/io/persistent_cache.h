// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/io/fd.h"
#include "core/io/file_maker.h"
#include "core/io/source.h"

namespace ctxfs {

/// The source of a persistent file, and which file of it.
struct KeptName {
  /// A file of the system (Source::descriptor): a persistent file is found as
  /// long as the identity of this one is unchanged.
  SourcePtr from;
  /// Includes the version of its producer.
  std::string what;
};

/// Files that persist for other processes of the user, by name, for threads
/// that may not open files for writing. Best effort: a file can disappear at
/// any time, and others who can write to the directory may have put it there.
class PersistentCache : public FileMaker {
 public:
  struct Kept {
    Fd file;  // open for reading
    uint64_t size = 0;
    std::string digest;  // of its bytes when it was stored; to be compared with
                         // them
  };

  /// The key of the digest of a file with this name: a file with the right
  /// digest was stored under this name by a process of the same user. Empty if
  /// nothing is stored.
  virtual std::string KeyFor(const KeptName& name) const = 0;

  /// Stores a complete file that Make returned. `digest` is that of its bytes
  /// with the key of `name`, in hex digits. `owner` keeps the file open until
  /// then.
  virtual void Keep(const KeptName& name, int file, const std::string& digest,
                    std::shared_ptr<const void> owner) = 0;

  /// Returns the file with this name; nullopt if there is none.
  virtual std::optional<Kept> Take(const KeptName& name) = 0;

  /// Removes a file whose bytes do not match its digest.
  virtual void Drop(const KeptName& name, const std::string& digest) = 0;
};

}  // namespace ctxfs
