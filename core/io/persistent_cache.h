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

/// What a kept file was made from, and what of it.
struct KeptName {
  /// A file of the system (Source::descriptor): a file that was kept for it is
  /// found as long as its identity is the same.
  SourcePtr from;
  /// With the version of what made it.
  std::string what;
};

/// Files that are kept for other processes of the user, by name, for threads
/// that may open none. Best effort: any of them can be gone at any time, and
/// others who can write to the directory may have put it there.
class PersistentCache : public FileMaker {
 public:
  struct Kept {
    Fd file;  // to be read
    uint64_t size = 0;
    std::string digest;  // that it was kept with; to be compared with its bytes
  };

  /// The key of the digest of a file with this name: a file that has the right
  /// digest was kept with this name, by a process of the same user. Empty if
  /// nothing is kept.
  virtual std::string KeyFor(const KeptName& name) const = 0;

  /// Keeps a file that Make returned and that is complete. `digest` is that of
  /// its bytes with the key of `name`, in hex digits. `owner` keeps the file
  /// open until that is done.
  virtual void Keep(const KeptName& name, int file, const std::string& digest,
                    std::shared_ptr<const void> owner) = 0;

  /// Returns the file that was kept with this name; nullopt if there is none.
  virtual std::optional<Kept> Take(const KeptName& name) = 0;

  /// Removes a file whose bytes are not those of its digest.
  virtual void Drop(const KeptName& name, const std::string& digest) = 0;
};

}  // namespace ctxfs
