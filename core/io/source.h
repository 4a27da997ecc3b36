// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/io/descriptors.h"
#include "core/io/fd.h"
#include "core/io/identity.h"
#include "core/io/readers.h"

namespace ctxfs {

/// For whom a file is opened. For everyone: files beside it that fewer may read
/// than the file itself are not opened for it.
enum class Audience : uint8_t { kMounter, kEveryone };

struct SourceOptions {
  Audience audience = Audience::kMounter;
  /// A change of ctime alone makes a file stale as well. Whoever opens a file
  /// with it calls Renew and reads again what was read.
  bool watch_ctime = false;
  /// The absolute path that someone named the file by, if it is opened by
  /// another: by a descriptor, for instance.
  std::string given = {};
};

/// A name in a directory, and whether that is a directory itself.
struct DirectoryEntry {
  std::string name;
  bool directory;
};

/// The bytes of one container, wherever they are kept; or the directory that a
/// container of several files is, which has no bytes of its own. What was
/// opened never changes: if the store changes underneath, reads fail with
/// kStale. Safe for any number of threads.
class Source {
 public:
  virtual ~Source() = default;

  /// Length in bytes, as it was at open.
  virtual uint64_t size() const = 0;

  /// The most bytes of a real file that these bytes can come from: less than
  /// size() where they were unpacked.
  virtual uint64_t stored_size() const { return size(); }

  /// Modification time in nanoseconds since 1970, as it was at open.
  virtual FileTime mtime() const { return {}; }

  /// Who might read the store when it was opened; nothing for memory.
  virtual std::optional<Readers> readers() const { return std::nullopt; }

  /// Fills all of `out` with the bytes at `offset`, or fails: kIo, or kStale
  /// when the store is no longer what was opened.
  virtual Status ReadAt(uint64_t offset, MutableBytes out) const = 0;

  /// kStale when the store is no longer what was opened. Asked before bytes
  /// kept from an earlier ReadAt are served.
  virtual Status CheckUnchanged() const { return {}; }

  /// Returns the same file or directory as it is now, if nothing but its ctime
  /// changed since it was opened; it need not have a name any more. kStale if
  /// anything else changed. Files beside it that lost their names can be opened
  /// again while this source's own are open.
  virtual Result<std::shared_ptr<const Source>> Renew() const;

  /// Returns the file's name in its directory, as it was opened by: that of the
  /// link if that was one. Empty where it has none.
  virtual std::string name() const { return {}; }

  /// Returns which file it was when it was opened; zeros where it is none.
  virtual FileIdentity identity() const { return {}; }

  /// Returns a digest of everything that opening the container has read, where
  /// that was recorded (DigestingSource).
  virtual std::optional<uint64_t> opening_digest() const {
    return std::nullopt;
  }

  /// Whether this is a directory.
  virtual bool is_directory() const { return false; }

  /// What is in this directory, by name; kNotFound for a file.
  virtual Result<std::vector<DirectoryEntry>> List() const;

  /// The file at `path`, relative to the directory that this one is in, or is
  /// itself. It lies in that directory or below: kCorrupt for a path that leads
  /// out of it, by "..", from the root, or through a link. kNotFound when there
  /// is none, or when the store knows no other files; kIo when it cannot be
  /// opened.
  virtual Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& path) const;

  /// Opens a file by what a file of a set calls another: `path` is relative to
  /// the directory of the path that this file was opened by, not of what a link
  /// leads to. As OpenBeside, but the last component may be a link that leads
  /// elsewhere if this file was opened for the mounter alone: download caches
  /// keep the files of a model as links into another directory.
  virtual Result<std::shared_ptr<const Source>> OpenSibling(
      const std::string& path) const {
    return OpenBeside(path);
  }

  /// The directory at `path`, with what OpenBeside says of files.
  virtual Result<std::shared_ptr<const Source>> OpenDirectoryBeside(
      const std::string& path) const;

  /// Returns the error of the last List, OpenBeside or OpenDirectoryBeside that
  /// failed because descriptors or memory ran out, if any did. A format may
  /// take such a failure for a missing file, so a container is not believed
  /// when its source has one.
  std::optional<Error> Shortage() const;

 protected:
  /// Returns `result`, after noting its error if that is a shortage.
  template <typename T>
  Result<T> Noted(Result<T> result) const {
    if (!result && result.error().Exhausted()) NoteShortage(result.error());
    return result;
  }

 private:
  void NoteShortage(const Error& error) const;

  mutable std::atomic<int> shortage_ = 0;  // errno, or 0
};

class Companions;

/// A regular file, read by pread. Its FileIdentity is compared after every
/// read: bytes of a file that was cut, written to or replaced by another of its
/// name are never passed on. With watch_ctime, whether its name leads to
/// another file is looked at when ctime changes and at most once a second
/// otherwise, since replacing or removing a file changes its ctime.
class FileSource final : public Source {
 public:
  /// Fails with kIo when `path` cannot be opened or is no regular file.
  static Result<std::shared_ptr<const FileSource>> Open(
      const std::string& path, const SourceOptions& options = {});

  /// Opens the file at `path` in `directory`, which ends in a slash, or below;
  /// see Source::OpenBeside. A file that is not regular is never opened for
  /// reading, nor, for everyone, one that not all of `readers` may read.
  static Result<std::shared_ptr<const Source>> OpenIn(
      const std::string& directory, const std::string& path,
      const SourceOptions& options, const Readers& readers);

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  uint64_t size() const override { return identity_.size; }
  FileTime mtime() const override { return identity_.mtime; }
  FileIdentity identity() const override { return identity_; }
  std::optional<Readers> readers() const override { return readers_; }
  Status ReadAt(uint64_t offset, MutableBytes out) const override;
  Status CheckUnchanged() const override;
  Result<std::shared_ptr<const Source>> Renew() const override;
  Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& path) const override;
  Result<std::shared_ptr<const Source>> OpenSibling(
      const std::string& path) const override;
  std::string name() const override;
  /// By all files of the process, those that are closed among them.
  static uint64_t AllBytesRead();

 private:
  /// An open file, which a source shares with the one it was renewed from.
  struct File {
    explicit File(Fd opened) : fd(std::move(opened)) {}
    const Fd fd;
    const Descriptors::Use counted;
  };
  /// A change is never forgiven; Renew forgives one of ctime alone.
  enum class State : uint8_t { kUnchanged, kTouched, kChanged };

  /// Opens `path` in `directory` even if its last component is a link that
  /// leads elsewhere.
  Result<std::shared_ptr<const Source>> OpenLinked(
      const std::string& directory, const std::string& path) const;

  FileSource(std::shared_ptr<const File> file, std::string first_path,
             const struct stat& st, const SourceOptions& options,
             std::shared_ptr<Companions> companions);

  /// Compares the file with what was opened, and its path if `path` says so or
  /// ctime changed. kIo if the file cannot be examined.
  Result<struct stat> Examine(bool path) const;
  bool PathIsDue() const;
  bool PathLeadsElsewhere() const;

  const std::shared_ptr<const File> file_;
  const std::string path_;  // absolute, without links
  /// path_ when the file was first opened: another file there replaces this
  /// one, also after this one was renamed or removed.
  const std::string first_path_;
  const SourceOptions options_;  // `given` is set
  const Readers readers_;
  const FileIdentity identity_;
  const std::shared_ptr<Companions> companions_;  // null unless watch_ctime
  mutable std::atomic<State> state_ = State::kUnchanged;
  mutable std::atomic<int64_t> path_examined_ns_ = 0;  // CLOCK_MONOTONIC
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

/// A part of another source, as a container within a container is one.
class SliceSource final : public Source {
 public:
  /// [offset, offset + size) lies within `whole`.
  SliceSource(std::shared_ptr<const Source> whole, uint64_t offset,
              uint64_t size)
      : whole_(std::move(whole)), offset_(offset), size_(size) {}

  uint64_t size() const override { return size_; }
  uint64_t stored_size() const override {
    return std::min(size_, whole_->stored_size());
  }
  FileTime mtime() const override { return whole_->mtime(); }
  std::optional<Readers> readers() const override { return whole_->readers(); }
  Status ReadAt(uint64_t offset, MutableBytes out) const override;
  Status CheckUnchanged() const override { return whole_->CheckUnchanged(); }

 private:
  std::shared_ptr<const Source> whole_;
  uint64_t offset_;
  uint64_t size_;
};

/// Bytes that were unpacked from all of another source, as true as that is.
class UnpackedSource final : public Source {
 public:
  UnpackedSource(std::shared_ptr<const Source> packed, Buffer bytes)
      : packed_(std::move(packed)), bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  uint64_t stored_size() const override { return packed_->stored_size(); }
  FileTime mtime() const override { return packed_->mtime(); }
  std::optional<Readers> readers() const override { return packed_->readers(); }
  Status ReadAt(uint64_t offset, MutableBytes out) const override;
  Status CheckUnchanged() const override { return packed_->CheckUnchanged(); }

 private:
  std::shared_ptr<const Source> packed_;
  Buffer bytes_;
};

/// All `length` bytes at `offset`. The caller has checked `length` against a
/// limit; bounds are checked here, before anything is allocated.
Result<Buffer> ReadBuffer(const Source& source, uint64_t offset,
                          uint64_t length, const char* what,
                          const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs
