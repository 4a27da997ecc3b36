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

/// The name of a persistent file: the source that it is derived from, and which
/// of the files derived from that source it is.
struct KeptName {
  /// A source with a Source::descriptor. The persistent file is found only
  /// while the identity of this source is unchanged.
  SourcePtr from;
  /// Names the file, and includes the version of the code that produces it.
  std::string what;
};

/// Stores files by name, so that later processes of the user find them. Threads
/// that may not open files for writing may use it. Best effort: a file can
/// disappear at any time, and may come from anyone who can write to the
/// directory.
class PersistentCache : public FileMaker {
 public:
  struct Kept {
    Fd file;  // open for reading
    uint64_t size = 0;
    std::string digest;  // of the stored bytes; the caller must compare it
                         // with the bytes of `file`
  };

  /// Returns the secret key for digests of files with this name. If the digest
  /// of a file is right, a process of the same user stored the file under this
  /// name. Empty if this cache stores nothing.
  virtual std::string KeyFor(const KeptName& name) const = 0;

  /// Stores a complete file that Make returned. `digest` is the digest of its
  /// bytes with the key of `name`, in hex digits. `owner` keeps the file open
  /// until it is stored.
  virtual void Keep(const KeptName& name, int file, const std::string& digest,
                    std::shared_ptr<const void> owner) = 0;

  /// Returns the file with this name; nullopt if there is none.
  virtual std::optional<Kept> Take(const KeptName& name) = 0;

  /// Removes the stored file, because its bytes do not match its digest.
  virtual void Drop(const KeptName& name, const std::string& digest) = 0;
};

}  // namespace ctxfs
