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

/// For whom a file is opened: for the mounting user, or for everyone who may
/// read it. With kEveryone, another file beside it is opened only if everyone
/// who may read the first file may also read the other file.
enum class AccessScope : uint8_t { kMounter, kEveryone };

struct SourceOptions {
  AccessScope access = AccessScope::kMounter;
  /// Whether a change of ctime alone makes a file stale. The caller must then
  /// call Renew and retry the read.
  bool watch_ctime = false;
  /// The absolute path that the user gave for the file, if another path opens
  /// it, such as that of a descriptor.
  std::string given = {};
};

/// A name in a directory, and whether it is itself a directory.
struct DirectoryEntry {
  std::string name;
  bool directory;
  bool link = false;  // a symbolic link, perhaps to a directory
};

struct SourceRange {
  uint64_t offset;
  uint64_t length;
};

/// A file that is compressed as a whole.
struct PackedFile {
  std::string_view compression;  // "gzip", "zstd", "xz" or "bzip2"
  uint64_t size;                 // of the file, in bytes
  /// Whether a checksum covers all decoded bytes and was compared at open.
  bool verified;
};

class Source;
using SourcePtr = std::shared_ptr<const Source>;

/// The bytes of one container, wherever they are stored. For a container that
/// is a directory with several files, this is the directory, without bytes of
/// its own. The bytes never change: if the file changes, reads fail with
/// kStale. Safe for any number of threads.
class Source {
 public:
  virtual ~Source() = default;

  /// Length in bytes at open.
  virtual uint64_t size() const = 0;

  /// An upper bound of the bytes that real files store for this source. For a
  /// decompressed source it is the compressed size, usually less than size().
  virtual uint64_t stored_size() const { return size(); }

  /// Modification time at open.
  virtual FileTime mtime() const { return {}; }

  /// The users who could read the file at open; nullopt for memory.
  virtual std::optional<ReadAccess> read_access() const { return std::nullopt; }

  /// Fills `out` with the bytes at `offset`, for `request`. Fails with kIo,
  /// with kStale if the file has changed since it was opened, or with kCorrupt
  /// if the range extends past the end. A source that decodes or fetches the
  /// bytes may fail with other codes.
  virtual Status ReadAt(uint64_t offset, MutableBytes out,
                        const Request& request) const = 0;

  /// Announces ranges that will be read soon, in any order. A remote source
  /// starts fetching them, adjacent ranges together, and does not wait; it may
  /// skip some. Ranges past the end are ignored.
  virtual void Prefetch(std::span<const SourceRange> /*ranges*/) const {}

  /// Fails with kStale if the file has changed since it was opened. Must be
  /// called before bytes from an earlier ReadAt are served.
  virtual Status CheckUnchanged() const { return {}; }

  /// Like CheckUnchanged, for this file and all files opened beside it.
  virtual Status CheckAllUnchanged() const { return CheckUnchanged(); }

  /// Returns false if no other file beside this one was opened or looked for:
  /// data derived from this source then depends on no other file. Returns true
  /// otherwise, or if that is unknown.
  virtual bool asked_others() const { return false; }

  /// Whether this is a temporary file with derived bytes.
  virtual bool temporary() const { return false; }

  /// Reopens the same file or directory if only its ctime has changed since it
  /// was opened, even if it was removed. Fails with kStale if anything else
  /// changed. Then a removed file beside it can be opened, too, as long as the
  /// source that this source opened for that file exists.
  virtual Result<SourcePtr> Renew() const;

  /// Returns the file's name in its directory, or the link's name if it was
  /// opened through a link. Empty if there is no name.
  virtual std::string name() const { return {}; }

  /// Returns the identity of the file at open; zeros if this is not a file.
  virtual FileIdentity identity() const { return {}; }

  /// Returns the descriptor of a regular file with exactly these bytes; -1 if
  /// there is none, as for memory or a remote object. The descriptor is open as
  /// long as this source.
  virtual int descriptor() const { return -1; }

  /// Returns a digest of all bytes that were read to open the container;
  /// nullopt if they were not recorded (DigestingSource).
  virtual std::optional<uint64_t> opening_digest() const {
    return std::nullopt;
  }

  /// Returns the file that was decoded to these bytes; nullopt if none was.
  virtual std::optional<PackedFile> packed_file() const { return std::nullopt; }

  virtual bool is_directory() const { return false; }

  /// Whether opening another file beside this source takes a request to a
  /// server.
  virtual bool is_remote() const { return false; }

  /// Returns the contents of this directory, sorted by name. Fails with
  /// kNotFound for a file.
  virtual Result<std::vector<DirectoryEntry>> List(
      const Request& request) const;

  /// Opens the file at `path`, which is relative to this directory or, for a
  /// file, to the file's directory. Fails with kCorrupt if `path` leads out of
  /// that directory, by "..", from the root or through a link; with kNotFound
  /// if the file does not exist or this source has no other files; with kIo if
  /// the file cannot be opened.
  virtual Result<SourcePtr> OpenBeside(const std::string& path,
                                       const Request& request) const;

  /// Opens another file of the same set. Like OpenBeside, with two differences
  /// for download caches (core/io/download_cache.h): if this file was opened
  /// through a link, `path` is relative to the directory of the link; and if
  /// that link belongs to such a cache, the last component of `path` may be a
  /// link in the same snapshot to a blob in the same directory.
  virtual Result<SourcePtr> OpenSibling(const std::string& path,
                                        const Request& request) const {
    return OpenBeside(path, request);
  }

  /// Opens the directory at `path` by the rules of OpenBeside; "." is the
  /// directory to which paths are relative.
  virtual Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                                const Request& request) const;

  /// Returns an error if a call of List, OpenBeside, OpenSibling or
  /// OpenDirectoryBeside failed for lack of descriptors or memory. A format may
  /// mistake such a failure for a missing file, so a container with such an
  /// error must not be used.
  std::optional<Error> Shortage() const;

 protected:
  /// Returns `result`, after recording an error for Shortage.
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

/// A regular file, read with pread. Its FileIdentity, of which ctime counts
/// only with watch_ctime, is compared after every read, so bytes of a file that
/// was truncated, overwritten or replaced are not returned. Replacing or
/// removing a file changes its ctime. With watch_ctime, the path is therefore
/// checked only when ctime has changed and, at most once a second, while it has
/// not. Without it, the path is checked after every read.
class FileSource final : public Source {
 public:
  /// Fails like SystemError if `path` cannot be opened, and with kIo if it is
  /// not a regular file.
  static Result<std::shared_ptr<const FileSource>> Open(
      const std::string& path, const SourceOptions& options = {});

  /// Opens the file at `path` below `directory`, which must end in a slash; see
  /// Source::OpenBeside. Never opens for reading a file that is not regular or,
  /// with kEveryone, one that some of `readers` may not read.
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
  Result<SourcePtr> OpenDirectoryBeside(const std::string& path,
                                        const Request& request) const override;
  std::string name() const override;
  /// Bytes read from all files of this process, including closed ones.
  static uint64_t AllBytesRead();

 private:
  /// An open file, which a source shares with its renewals.
  struct File {
    explicit File(Fd opened) : fd(std::move(opened)) {}
    const Fd fd;
    const Descriptors::Use counted;
  };
  /// kTouched: only ctime changed, and Renew helps. kChanged is permanent.
  enum class State : uint8_t { kUnchanged, kTouched, kChanged };

  /// Opens `path` in `directory` if both `path` and the link by which this file
  /// was opened are links of a download cache, to blobs in one directory.
  /// Otherwise fails with kCorrupt, because `path` leads out of `directory`.
  Result<SourcePtr> OpenLinked(const std::string& directory,
                               const std::string& path) const;

  FileSource(std::shared_ptr<const File> file, std::string first_path,
             const struct stat& st, const SourceOptions& options,
             std::shared_ptr<Companions> companions);

  /// Compares the file with its state at open, and records the result in
  /// state_. If `path` is set, or if ctime has changed under watch_ctime, also
  /// checks whether the file's path leads to another file. Fails with kIo if
  /// the file cannot be examined.
  Result<struct stat> Examine(bool path) const;
  bool PathIsDue() const;
  bool PathLeadsElsewhere() const;

  const std::shared_ptr<const File> file_;
  const std::string path_;  // absolute, without links
  /// path_ at the first open. A file that appears there later replaces this
  /// one, even if this one was renamed or removed.
  const std::string first_path_;
  const SourceOptions options_;  // `given` is set
  const ReadAccess read_access_;
  const FileIdentity identity_;
  const std::shared_ptr<Companions> companions_;
  mutable std::atomic<State> state_ = State::kUnchanged;
  mutable std::atomic<int64_t> path_examined_ns_ = 0;  // CLOCK_MONOTONIC
};

/// Sets the minimum interval at which a FileSource with watch_ctime checks
/// whether its name leads to another file while its ctime is unchanged; one
/// second by default. Process-wide; must be called before files are opened.
void SetPathCheckInterval(std::chrono::seconds interval);

/// Bytes in memory: for tests, fuzzing, and containers without a file.
class MemorySource final : public Source {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;

 private:
  std::string bytes_;
};

/// Bytes derived from another source, and stale if that source is.
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
  bool is_remote() const override { return from_->is_remote(); }

 protected:
  const Source& from() const { return *from_; }

 private:
  const SourcePtr from_;
};

/// A part of another source, such as a nested container.
class SliceSource final : public DerivedSource {
 public:
  /// [offset, offset + size) must lie within `whole`.
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

/// Bytes decompressed from all of another source.
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

/// Reads `length` bytes at `offset`. The caller must have checked `length`
/// against a limit; this function checks it against the size of the source
/// before it allocates. Errors call the bytes `what`.
Result<Buffer> ReadBuffer(const Source& source, uint64_t offset,
                          uint64_t length, const char* what,
                          const Request& request);

}  // namespace ctxfs
