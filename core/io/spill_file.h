// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/descriptors.h"
#include "core/io/fd.h"
#include "core/io/file_maker.h"

namespace ctxfs {

/// An unnamed temporary file for decoded bytes that are too many for memory. It
/// is opened once, before the process confines itself. With a FileMaker, each
/// part is a separate file, which the kernel can read by itself. Safe for any
/// number of threads.
class SpillFile : public std::enable_shared_from_this<SpillFile> {
 public:
  /// A range of the file, or a separate file. Its destructor returns the space.
  class Part {
   public:
    Part(std::shared_ptr<SpillFile> file, uint64_t offset, uint64_t size)
        : file_(std::move(file)), offset_(offset), size_(size), own_(-1) {}
    Part(std::shared_ptr<SpillFile> file, Fd own, uint64_t size)
        : file_(std::move(file)),
          offset_(0),
          size_(size),
          own_(std::move(own)),
          counted_(std::make_unique<Descriptors::Use>()) {}
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    uint64_t size() const { return size_; }
    /// The separate file of this part; -1 if it is a range.
    int descriptor() const { return own_.get(); }
    /// Write and Read fail with kIo. The range at `at` must lie within the
    /// part. Writes must be sequential, from the part's start to its end.
    Status Write(uint64_t at, Bytes bytes) const;
    Status Read(uint64_t at, MutableBytes out) const;

   private:
    friend SpillFile;

    const std::shared_ptr<SpillFile> file_;
    const uint64_t offset_;
    const uint64_t size_;
    Fd own_;
    const std::unique_ptr<Descriptors::Use> counted_;
    mutable uint64_t loans_ = 0;  // under file_->mutex_
  };

  /// Creates a file in `directory` that takes at most `most` bytes of the disk.
  /// Fails with kIo.
  static Result<std::shared_ptr<SpillFile>> Make(const std::string& directory,
                                                 uint64_t most);

  /// Like Make, with a separate file for each part. `maker` creates them in
  /// `directory`, and must outlive the result.
  static std::shared_ptr<SpillFile> OfFiles(const std::string& directory,
                                            uint64_t most, FileMaker& maker);

  SpillFile(Fd fd, std::string directory, uint64_t most)
      : fd_(std::move(fd)), directory_(std::move(directory)), most_(most) {}

  /// Fails like Reserve if `size` bytes would not fit even if all parts were
  /// freed.
  Status CouldHold(uint64_t size) const;

  /// Reserves `size` bytes, at least 1, on the disk. Fails with kIo; the errno
  /// is ENOSPC if the disk or the bound of the file has not enough left. An
  /// object of OfFiles also fails with kTooManyFiles.
  Result<std::shared_ptr<const Part>> Reserve(uint64_t size);

  /// From now on, a part is a separate file if `maker` can create one. `maker`
  /// must outlive this object. Must be called before other threads start.
  void MakeFilesBy(FileMaker& maker) { maker_ = &maker; }

  /// Takes over an existing file of `size` bytes as a part. If it fails, as
  /// Reserve does, `file` stays with the caller.
  Result<std::shared_ptr<const Part>> Adopt(Fd& file, uint64_t size);

  /// Lends `part`, which must be a separate file, to a reader until the Loan is
  /// destroyed. Returns null if more than `most` bytes would be lent in all.
  using Loan = std::shared_ptr<const Part>;
  Loan Lend(const std::shared_ptr<const Part>& part, uint64_t most);
  /// Total bytes of the lent parts, and whether `part` is lent.
  uint64_t lent() const;
  bool IsLent(const Part& part) const;
  /// Notified when a part is freed or no longer lent.
  CondVar& room() { return room_; }

  int descriptor() const { return fd_.get(); }
  /// Maximum bytes.
  uint64_t most() const { return most_; }
  uint64_t bytes() const;

 private:
  /// Takes the first gap of `size` bytes, and returns its offset. Returns
  /// UINT64_MAX if the bytes would exceed the bound, or end past the largest
  /// size of a file.
  uint64_t Take(uint64_t size);
  void GiveBack(uint64_t offset, uint64_t size);
  void GiveBackFile(Fd file, uint64_t size);
  /// Subtracts `size` bytes, and notifies the threads that wait for room.
  void Uncount(uint64_t size);
  /// Reserves a separate file. Fails like Reserve, or if none can be created.
  Result<std::shared_ptr<const Part>> ReserveFile(uint64_t size);
  /// Counts `size` bytes for a separate file. Fails like Reserve if they exceed
  /// the bound, or if Descriptors has no room for the file.
  Status CountFile(uint64_t size);
  Error Full(uint64_t size) const;
  Error DiskFull(uint64_t size) const;
  /// Free bytes of the disk; UINT64_MAX if unknown.
  uint64_t Free() const;

  const Fd fd_;
  const std::string directory_;
  const uint64_t most_;
  FileMaker* maker_ = nullptr;
  CondVar room_;
  mutable Mutex mutex_;
  uint64_t bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t lent_ CTXFS_GUARDED_BY(mutex_) = 0;
  // Sizes by offset.
  std::map<uint64_t, uint64_t> parts_ CTXFS_GUARDED_BY(mutex_);
};

/// Like FileMaker::Make, in an open directory. Must not be called by confined
/// threads.
Result<Fd> MakeUnnamed(const Fd& directory, uint64_t size);

/// The default directory for spill files: $TMPDIR, or /var/tmp.
std::string SpillDirectory();

}  // namespace ctxfs
