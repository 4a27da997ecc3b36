// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// A temporary file without a name, for decoded bytes that are too many for
/// memory. It is opened once, before the process confines itself. Safe for any
/// number of threads.
class SpillFile : public std::enable_shared_from_this<SpillFile> {
 public:
  /// A range of the file, given back to the disk at the end.
  class Part {
   public:
    Part(std::shared_ptr<SpillFile> file, uint64_t offset, uint64_t size)
        : file_(std::move(file)), offset_(offset), size_(size) {}
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    uint64_t size() const { return size_; }
    /// Both fail with kIo; [at, at + bytes) lies within the part.
    Status Write(uint64_t at, Bytes bytes) const;
    Status Read(uint64_t at, MutableBytes out) const;

   private:
    const std::shared_ptr<SpillFile> file_;
    const uint64_t offset_;
    const uint64_t size_;
  };

  /// Makes a file in `directory` that takes `most` bytes of the disk at the
  /// most. Fails with kIo.
  static Result<std::shared_ptr<SpillFile>> Make(const std::string& directory,
                                                 uint64_t most);

  SpillFile(Fd fd, std::string directory, uint64_t most)
      : fd_(std::move(fd)), directory_(std::move(directory)), most_(most) {}

  /// Fails as Reserve does if there were no room for `size` bytes even without
  /// any part that is reserved now.
  Status CouldHold(uint64_t size) const;

  /// Reserves `size` bytes, at least 1, on the disk. Fails with kIo; the errno
  /// is ENOSPC if the disk has not as many, or the file may not take them.
  Result<std::shared_ptr<const Part>> Reserve(uint64_t size);

  int descriptor() const { return fd_.get(); }
  /// Bytes reserved now.
  uint64_t bytes() const;

 private:
  /// Takes the first gap of `size` bytes; UINT64_MAX if that is too many.
  uint64_t Take(uint64_t size);
  void GiveBack(uint64_t offset, uint64_t size);
  Error Full(uint64_t size) const;
  Error DiskFull(uint64_t size) const;
  /// Bytes of the disk that are free, as far as that can be told.
  uint64_t Free() const;

  const Fd fd_;
  const std::string directory_;
  const uint64_t most_;
  mutable Mutex mutex_;
  uint64_t bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
  // Sizes by offset.
  std::map<uint64_t, uint64_t> parts_ CTXFS_GUARDED_BY(mutex_);
};

/// The directory for such files if none was given: $TMPDIR, or /var/tmp.
std::string SpillDirectory();

}  // namespace ctxfs
