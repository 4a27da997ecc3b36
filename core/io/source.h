// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/request.h"
#include "core/base/result.h"
#include "core/io/descriptors.h"
#include "core/io/fd.h"
#include "core/io/identity.h"
#include "core/io/read_access.h"

namespace ctxfs {

/// For whom a file is opened: for the user who mounts it, or for everyone who
/// may read it. For everyone, a file beside it is opened only if all users who
/// may read this file may read that one.
enum class AccessScope : uint8_t { kMounter, kEveryone };

struct SourceOptions {
  AccessScope access = AccessScope::kMounter;
  /// Whether a change of ctime alone makes a file stale. The caller then calls
  /// Renew and repeats the read.
  bool watch_ctime = false;
  /// The absolute path that the user gave for the file, if it is opened by
  /// another path, for instance by that of a descriptor.
  std::string given = {};
};

/// A name in a directory, and whether that is a directory itself.
struct DirectoryEntry {
  std::string name;
  bool directory;
};

/// The bytes [offset, offset + length) of a source.
struct SourceRange {
  uint64_t offset;
  uint64_t length;
};

/// A file that is compressed as a whole.
struct PackedFile {
  std::string_view compression;  // "gzip", "zstd", "xz" or "bzip2"
  uint64_t size;                 // of the file, in bytes
  /// Whether it has a checksum of all decoded bytes, compared when it was
  /// opened.
  bool verified;
};

class Source;
using SourcePtr = std::shared_ptr<const Source>;

/// The bytes of one container, wherever they are stored. A container can also
/// be a directory with several files: then this is the directory, which has no
/// bytes of its own. The bytes never change: if the file changes, reads fail
/// with kStale. Safe for any number of threads.
class Source {
 public:
  virtual ~Source() = default;

  /// Length in bytes, as it was at open.
  virtual uint64_t size() const = 0;

  /// The most bytes of a real file that these bytes can come from. They are
  /// fewer than size() if these bytes were decompressed.
  virtual uint64_t stored_size() const { return size(); }

  /// Modification time in nanoseconds since 1970, as it was at open.
  virtual FileTime mtime() const { return {}; }

  /// Which users could read the file when it was opened; nullopt for memory.
  virtual std::optional<ReadAccess> read_access() const { return std::nullopt; }

  /// Fills all of `out` with the bytes at `offset`, for `request`. Fails with
  /// kIo, or with kStale if the file has changed since it was opened.
  virtual Status ReadAt(uint64_t offset, MutableBytes out,
                        const Request& request) const = 0;

  /// Announces ranges that are read soon, in any order. A source that is far
  /// away starts to fetch them, those that are near one another together, and
  /// does not wait; it may leave some out. What lies beyond the end is ignored.
  virtual void Prefetch(std::span<const SourceRange> /*ranges*/) const {}

  /// Fails with kStale if the file has changed since it was opened. Called
  /// before bytes from an earlier ReadAt are served.
  virtual Status CheckUnchanged() const { return {}; }

  /// Like CheckUnchanged, for this file and all that were opened beside it.
  virtual Status CheckAllUnchanged() const { return CheckUnchanged(); }

  /// Whether a file beside it was asked for: what is made of these bytes may
  /// depend on that file, or on there being none.
  virtual bool asked_others() const { return false; }

  /// Whether this is a temporary file with what was made of other bytes.
  virtual bool temporary() const { return false; }

  /// Returns the same file or directory as it is now, if only its ctime changed
  /// since it was opened; it need not have a name any more. Fails with kStale
  /// if anything else changed. Files beside it that have no name any more can
  /// be opened again as long as this source has them open.
  virtual Result<SourcePtr> Renew() const;

  /// Returns the file's name in its directory. If it was opened through a link,
  /// that is the name of the link. Empty if there is no name.
  virtual std::string name() const { return {}; }

  /// Returns the identity of the file when it was opened; zeros if this is not
  /// a file.
  virtual FileIdentity identity() const { return {}; }

  /// Returns the descriptor of the regular file that has these bytes, all of
  /// them and nothing else; -1 if there is none, as of memory or an object of a
  /// server. It is open as long as this source.
  virtual int descriptor() const { return -1; }

  /// Returns a digest of everything that was read to open the container;
  /// nullopt if that was not recorded (DigestingSource).
  virtual std::optional<uint64_t> opening_digest() const {
    return std::nullopt;
  }

  /// Returns the file of which these are the decoded bytes; nullopt if they are
  /// not decoded.
  virtual std::optional<PackedFile> packed_file() const { return std::nullopt; }

  /// Whether this is a directory.
  virtual bool is_directory() const { return false; }

  /// Returns the contents of this directory, sorted by name. Fails with
  /// kNotFound for a file.
  virtual Result<std::vector<DirectoryEntry>> List(
      const Request& request) const;

  /// Opens the file at `path`, which is relative to this directory or, if this
  /// is a file, to the directory that it is in. Fails with kCorrupt for a path
  /// that leads out of that directory, by "..", from the root or through a
  /// link; with kNotFound if there is no such file or this source has no other
  /// files; with kIo if the file cannot be opened.
  virtual Result<SourcePtr> OpenBeside(const std::string& path,
                                       const Request& request) const;

  /// Opens another file of the set that this file belongs to. Like OpenBeside,
  /// with two differences for download caches (core/io/download_cache.h): if
  /// this file was opened through a link, `path` is relative to the directory
  /// of the link, and if that is a link of such a cache, the last component may
  /// be one to the same blobs, from the same snapshot.
  virtual Result<SourcePtr> OpenSibling(const std::string& path,
                                        const Request& request) const {
    return OpenBeside(path, request);
  }

  /// Opens the directory at `path`, with the rules of OpenBeside.
  virtual Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                                const Request& request) const;

  /// Returns the error of the last List, OpenBeside or OpenDirectoryBeside that
  /// failed because descriptors or memory ran out, if any did. A format may
  /// take such a failure for a missing file, so a container whose source has
  /// such an error must not be used.
  std::optional<Error> Shortage() const;

 protected:
  /// Returns `result`; if it is an error for Shortage, records it first.
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

/// A regular file, read with pread. Its FileIdentity is compared after every
/// read, so bytes of a file that was cut, overwritten or replaced are never
/// returned. Replacing or removing a file changes its ctime. With watch_ctime,
/// the name is therefore checked only when ctime has changed and, at most once
/// a second, at other times.
class FileSource final : public Source {
 public:
  /// Fails with kIo if `path` cannot be opened or is not a regular file.
  static Result<std::shared_ptr<const FileSource>> Open(
      const std::string& path, const SourceOptions& options = {});

  /// Opens the file at `path` below `directory`, which ends in a slash; see
  /// Source::OpenBeside. Never opens for reading a file that is not regular or,
  /// with kEveryone, one that not all of `readers` may read.
  static Result<SourcePtr> OpenIn(const std::string& directory,
                                  const std::string& path,
                                  const SourceOptions& options,
                                  const ReadAccess& readers);

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  uint64_t size() const override { return identity_.size; }
  FileTime mtime() const override { return identity_.mtime; }
  FileIdentity identity() const override { return identity_; }
  int descriptor() const override { return file_->fd.get(); }
  std::optional<ReadAccess> read_access() const override {
    return read_access_;
  }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  Status CheckUnchanged() const override;
  Status CheckAllUnchanged() const override;
  bool asked_others() const override;
  Result<SourcePtr> Renew() const override;
  Result<SourcePtr> OpenBeside(const std::string& path,
                               const Request& request) const override;
  Result<SourcePtr> OpenSibling(const std::string& path,
                                const Request& request) const override;
  std::string name() const override;
  /// Bytes that were read from all files of this process, closed ones included.
  static uint64_t AllBytesRead();

 private:
  /// An open file, which a source shares with the one it was renewed from.
  struct File {
    explicit File(Fd opened) : fd(std::move(opened)) {}
    const Fd fd;
    const Descriptors::Use counted;
  };
  /// kTouched: only ctime changed, and Renew helps. kChanged is for good.
  enum class State : uint8_t { kUnchanged, kTouched, kChanged };

  /// Opens `path` in `directory` if both it and the link that this file was
  /// opened by are links of a download cache. Otherwise it leads out.
  Result<SourcePtr> OpenLinked(const std::string& directory,
                               const std::string& path) const;

  FileSource(std::shared_ptr<const File> file, std::string first_path,
             const struct stat& st, const SourceOptions& options,
             std::shared_ptr<Companions> companions);

  /// Compares the file with its state when it was opened and, if `path` is set
  /// or ctime has changed, checks that its path does not lead to another file.
  /// Fails with kIo if the file cannot be examined.
  Result<struct stat> Examine(bool path) const;
  bool PathIsDue() const;
  bool PathLeadsElsewhere() const;

  const std::shared_ptr<const File> file_;
  const std::string path_;  // absolute, without links
  /// path_ when the file was first opened. A file that appears there later
  /// replaces this one, even if this one was renamed or removed.
  const std::string first_path_;
  const SourceOptions options_;  // `given` is set
  const ReadAccess read_access_;
  const FileIdentity identity_;
  const std::shared_ptr<Companions> companions_;  // null unless watch_ctime
  mutable std::atomic<State> state_ = State::kUnchanged;
  mutable std::atomic<int64_t> path_examined_ns_ = 0;  // CLOCK_MONOTONIC
};

/// Sets how often at most a FileSource with watch_ctime looks whether its name
/// leads to another file, while its ctime stays the same: once a second unless
/// called. For the whole process, before files are opened.
void SetPathCheckInterval(std::chrono::seconds interval);

/// Bytes in memory: for tests, fuzzing, and containers within containers.
class MemorySource final : public Source {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;

 private:
  std::string bytes_;
};

/// Bytes that come from another source, and are stale if that source is.
class DerivedSource : public Source {
 public:
  explicit DerivedSource(SourcePtr from) : from_(std::move(from)) {}

  uint64_t stored_size() const override { return from_->stored_size(); }
  FileTime mtime() const override { return from_->mtime(); }
  std::optional<ReadAccess> read_access() const override {
    return from_->read_access();
  }
  Status CheckUnchanged() const override { return from_->CheckUnchanged(); }
  Status CheckAllUnchanged() const override {
    return from_->CheckAllUnchanged();
  }
  bool asked_others() const override { return from_->asked_others(); }

 protected:
  const Source& from() const { return *from_; }

 private:
  const SourcePtr from_;
};

/// A part of another source, such as a container within a container.
class SliceSource final : public DerivedSource {
 public:
  /// [offset, offset + size) lies within `whole`.
  SliceSource(SourcePtr whole, uint64_t offset, uint64_t size)
      : DerivedSource(std::move(whole)), offset_(offset), size_(size) {}

  uint64_t size() const override { return size_; }
  uint64_t stored_size() const override {
    return std::min(size_, from().stored_size());
  }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;
  void Prefetch(std::span<const SourceRange> ranges) const override;

 private:
  uint64_t offset_;
  uint64_t size_;
};

/// Bytes that were decompressed from all of another source.
class UnpackedSource final : public DerivedSource {
 public:
  UnpackedSource(SourcePtr packed, Buffer bytes)
      : DerivedSource(std::move(packed)), bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;

 private:
  Buffer bytes_;
};

/// Reads `length` bytes at `offset`. The caller has compared `length` with a
/// limit; this function compares it with the size of the source before it
/// allocates anything. Errors call the bytes `what`.
Result<Buffer> ReadBuffer(const Source& source, uint64_t offset,
                          uint64_t length, const char* what,
                          const Request& request);

}  // namespace ctxfs
