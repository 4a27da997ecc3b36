// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

/// The bytes of one container, wherever they are kept. What was opened never
/// changes: if the store changes underneath, reads fail with kStale. Safe for
/// any number of threads.
class Source {
 public:
  virtual ~Source() = default;

  /// Length in bytes, as it was at open.
  virtual uint64_t size() const = 0;

  /// Modification time in nanoseconds since 1970, as it was at open.
  virtual int64_t mtime_ns() const { return 0; }

  /// Fills all of `out` with the bytes at `offset`, or fails: kIo, or kStale
  /// when the store is no longer what was opened.
  virtual Status ReadAt(uint64_t offset, MutableBytes out) const = 0;

  /// kStale when the store is no longer what was opened. Asked before bytes
  /// kept from an earlier ReadAt are served.
  virtual Status CheckUnchanged() const { return {}; }

  /// The file at `relative` to the directory that this one is in, never outside
  /// it: kNotFound for stores that have no directory.
  virtual Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& relative) const;

  /// Bytes read so far.
  virtual uint64_t bytes_read() const { return 0; }
};

/// A regular file, read by pread. The identity (device, inode, size, mtime) is
/// compared after every read: bytes of a file that was cut, written to or
/// replaced by another of its name are never passed on.
class FileSource final : public Source {
 public:
  /// Fails with kIo when `path` cannot be opened or is no regular file.
  static Result<std::shared_ptr<const FileSource>> Open(
      const std::string& path);

  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  uint64_t size() const override { return size_; }
  int64_t mtime_ns() const override { return mtime_ns_; }
  Status ReadAt(uint64_t offset, MutableBytes out) const override;
  Status CheckUnchanged() const override;
  Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& relative) const override;
  uint64_t bytes_read() const override {
    return bytes_read_.load(std::memory_order_relaxed);
  }

 private:
  /// Takes over `fd`, which `path` was opened as.
  static Result<std::shared_ptr<const FileSource>> OfDescriptor(
      int fd, const std::string& path);

  FileSource(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;  // absolute: the daemon changes its directory
  int fd_;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  uint64_t size_ = 0;
  int64_t mtime_ns_ = 0;
  mutable std::atomic<bool> changed_ = false;  // a change is never forgiven
  mutable std::atomic<uint64_t> bytes_read_ = 0;
};

/// Bytes in memory: for tests, fuzzing, and containers within containers.
class MemorySource final : public Source {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out) const override;

 private:
  std::string bytes_;
};

/// All `length` bytes at `offset`. The caller has checked `length` against a
/// limit; bounds are checked here, before anything is allocated.
Result<Buffer> ReadBuffer(const Source& source, uint64_t offset,
                          uint64_t length, const char* what);

}  // namespace ctxfs
