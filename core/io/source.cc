// SPDX-License-Identifier: Apache-2.0
#include "core/io/source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/io/companions.h"
#include "core/io/directory.h"
#include "core/io/download_cache.h"
#include "core/io/io_error.h"
#include "core/io/read_now.h"
#include "core/io/transfer.h"
#include "core/io/walk.h"

namespace ctxfs {
namespace {

// O_NONBLOCK, so that opening a fifo does not block.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

std::atomic<uint64_t> g_bytes_read = 0;

constexpr int64_t kSecondNs = 1'000'000'000;
std::atomic<int64_t> g_path_check_ns = kSecondNs;

/// Whether all of `readers` may search every directory on the way from
/// `directory` to `path`.
bool MayReach(const std::string& directory, const std::string& path,
              const ReadAccess& readers) {
  for (size_t end = path.find('/'); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const Result<Fd> on_the_way =
        FindBeneath(directory, path.substr(0, end), O_DIRECTORY);
    struct stat st {};
    if (!on_the_way || ::fstat(on_the_way->get(), &st) != 0 ||
        !ReadAccess::Of(st).Include(readers)) {
      return false;
    }
  }
  return true;
}

/// Makes `path` absolute and resolves links, except for its last component.
/// Returns `real` on failure, and for a path that is in /proc or has no file
/// name at its end.
std::string AbsolutePath(const std::string& path, const std::string& real) {
  const std::filesystem::path given(path);
  const std::filesystem::path name = given.filename();
  if (path.starts_with("/proc/") || name.empty() || name == "." ||
      name == "..") {
    return real;
  }
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::canonical(
      given.has_parent_path() ? given.parent_path() : ".", failed);
  return failed ? real : (directory / name).string();
}

SourceOptions WithGiven(SourceOptions options, const std::string& path,
                        const std::string& real) {
  if (options.given.empty()) options.given = AbsolutePath(path, real);
  return options;
}

std::string DirectoryOf(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

/// Returns the error of open(2) for `path`. If the file is missing from a
/// download cache, the error says so.
Error CannotOpen(const std::string& path, int number) {
  if (number == ENOENT) {
    if (auto missing = MissingFromStore(path)) {
      missing->code = Code::kIo;  // no bytes were read, so none are damaged
      return *std::move(missing);
    }
  }
  return SystemError("cannot be opened", number);
}

Error NotForAll() {
  return {Code::kIo, "is not for all who may read the container"};
}

/// Opens the result of FindPath or FindBeneath, and calls it `name`. Never
/// opens for reading a file that is not regular.
Result<SourcePtr> OpenFound(const Fd& found, std::string name,
                            const SourceOptions& options,
                            const ReadAccess& readers) {
  struct stat st {};
  if (::fstat(found.get(), &st) != 0) return IoError("cannot be examined");
  if (S_ISDIR(st.st_mode)) return Error{Code::kIo, "is a directory"};
  if (!S_ISREG(st.st_mode)) return Error{Code::kIo, "is not a regular file"};
  if (options.access == AccessScope::kEveryone &&
      !ReadAccess::Of(st).Include(readers)) {
    return NotForAll();
  }
  SourceOptions known = options;
  known.given = std::move(name);
  return FileSource::Open(found.proc_path(), known);
}

}  // namespace

Result<SourcePtr> Source::OpenBeside(const std::string& /*path*/,
                                     const Request& /*request*/) const {
  return Error{Code::kNotFound, "there are no files beside this one"};
}

Result<SourcePtr> Source::OpenDirectoryBeside(
    const std::string& /*path*/, const Request& /*request*/) const {
  return Error{Code::kNotFound, "there are no directories beside this one"};
}

Result<SourcePtr> Source::Renew() const {
  return Error{Code::kStale, "it is reopened with the container that it is in"};
}

Result<std::vector<DirectoryEntry>> Source::List(
    const Request& /*request*/) const {
  return Error{Code::kNotFound, "is no directory"};
}

void Source::NoteShortage(const Error& error) const {
  shortage_.store(error.sys_errno != 0 ? error.sys_errno : ENOMEM,
                  std::memory_order_relaxed);
}

std::optional<Error> Source::Shortage() const {
  const int number = shortage_.load(std::memory_order_relaxed);
  if (number == 0) return std::nullopt;
  return SystemError("a file that belongs to it cannot be opened", number);
}

Result<std::shared_ptr<const FileSource>> FileSource::Open(
    const std::string& path, const SourceOptions& options) {
  Fd fd(::open(path.c_str(), kOpenFlags));
  if (!fd.ok()) return CannotOpen(path, errno);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return IoError("cannot be examined");
  if (S_ISDIR(st.st_mode)) return Error{Code::kIo, "is a directory"};
  if (!S_ISREG(st.st_mode)) return Error{Code::kIo, "is not a regular file"};
  std::string first_path = fd.real_path();
  const SourceOptions known = WithGiven(options, path, first_path);
  std::shared_ptr<const FileSource> source(new FileSource(
      std::make_shared<const File>(std::move(fd)), std::move(first_path), st,
      known, std::make_shared<Companions>()));
  // Records that the path was examined just now, because open() looked it up.
  (void)source->PathIsDue();
  return source;
}

Result<SourcePtr> FileSource::OpenBeside(const std::string& path,
                                         const Request& /*request*/) const {
  const auto open = [&] {
    return OpenIn(DirectoryOf(path_), path, options_, read_access_);
  };
  return Noted(companions_->Open(path, open));
}

Result<SourcePtr> FileSource::OpenSibling(const std::string& path,
                                          const Request& /*request*/) const {
  const auto open = [&]() -> Result<SourcePtr> {
    const std::string directory = DirectoryOf(options_.given);
    Result<SourcePtr> inside = OpenIn(directory, path, options_, read_access_);
    if (inside || inside.error().code != Code::kCorrupt) return inside;
    return OpenLinked(directory, path);
  };
  return Noted(companions_->Open(path, open));
}

Result<SourcePtr> FileSource::OpenDirectoryBeside(
    const std::string& path, const Request& /*request*/) const {
  const auto open = [&]() -> Result<SourcePtr> {
    const std::string directory = DirectoryOf(path_);
    const Fd found = CTXFS_TRY(FindBeneath(directory, path, O_DIRECTORY));
    Result<SourcePtr> source =
        DirectorySource::Open(found.proc_path(), options_);
    if (source && options_.access == AccessScope::kEveryone &&
        !(*source)->read_access()->Include(read_access_)) {
      return NotForAll();
    }
    return source;
  };
  return Noted(companions_->Open(path, open));
}

Status FileSource::CheckAllUnchanged() const {
  CTXFS_TRY(CheckUnchanged());
  return companions_->CheckUnchanged();
}

bool FileSource::asked_others() const { return companions_->asked(); }

Result<SourcePtr> FileSource::OpenLinked(const std::string& directory,
                                         const std::string& path) const {
  const Error outside{Code::kCorrupt, "leads out of the directory"};
  const size_t at = path.rfind('/') + 1;  // 0 without a slash
  const std::string link = path.substr(at);
  const Fd own = CTXFS_TRY(FindPath(directory, O_DIRECTORY));
  const Fd parent = CTXFS_TRY(
      FindBeneath(directory, at == 0 ? "." : path.substr(0, at), O_DIRECTORY));
  // The link of this file counts only while it still leads to the opened file.
  const std::optional<std::string> own_blob = BlobOfLink(own, name());
  if (!own_blob || StoredAt(*own_blob) != first_path_) return outside;
  const std::optional<std::string> blob = BlobOfLink(parent, link);
  if (!blob || DirectoryOf(*blob) != DirectoryOf(*own_blob)) return outside;
  const Fd found = CTXFS_TRY(FindBlob(*blob));
  return OpenFound(found, parent.real_path() + "/" + link, options_,
                   read_access_);
}

std::string FileSource::name() const {
  return options_.given.substr(options_.given.rfind('/') + 1);
}

Result<SourcePtr> FileSource::OpenIn(const std::string& directory,
                                     const std::string& path,
                                     const SourceOptions& options,
                                     const ReadAccess& readers) {
  const Fd found = CTXFS_TRY(FindBeneath(directory, path, 0));
  if (options.access == AccessScope::kEveryone &&
      !MayReach(directory, path, readers)) {
    return NotForAll();
  }
  return OpenFound(found, directory + path, options, readers);
}

FileSource::FileSource(std::shared_ptr<const File> file, std::string first_path,
                       const struct stat& st, const SourceOptions& options,
                       std::shared_ptr<Companions> companions)
    : file_(std::move(file)),
      path_(file_->fd.real_path()),
      first_path_(std::move(first_path)),
      options_(options),
      read_access_(ReadAccess::Of(st)),
      identity_(FileIdentity::Of(st)),
      companions_(std::move(companions)) {}

Result<size_t> ReadNow(int descriptor, uint64_t offset, MutableBytes out) {
  const Transferred got = PreadSome(descriptor, offset, out);
  if (got.failed) return IoError("cannot be read", offset + got.bytes);
  g_bytes_read.fetch_add(got.bytes, std::memory_order_relaxed);
  return got.bytes;
}

Status FileSource::ReadAt(uint64_t offset, MutableBytes out,
                          const Request& /*request*/) const {
  if (!InBounds(offset, out.size(), size())) return PastTheEnd(offset);
  const size_t got = CTXFS_TRY(ReadNow(file_->fd.get(), offset, out));
  // The file was truncated.
  if (got < out.size()) {
    state_.store(State::kChanged, std::memory_order_relaxed);
  }
  return CheckUnchanged();
}

uint64_t FileSource::AllBytesRead() {
  return g_bytes_read.load(std::memory_order_relaxed);
}

void SetPathCheckInterval(std::chrono::seconds interval) {
  g_path_check_ns = std::chrono::nanoseconds(interval).count();
}

bool FileSource::PathIsDue() const {
  if (!options_.watch_ctime) return true;
  struct timespec time {};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const int64_t now = time.tv_sec * kSecondNs + time.tv_nsec;
  if (now - path_examined_ns_.load(std::memory_order_relaxed) <
      g_path_check_ns.load(std::memory_order_relaxed)) {
    return false;
  }
  path_examined_ns_.store(now, std::memory_order_relaxed);
  return true;
}

bool FileSource::PathLeadsElsewhere() const {
  const Result<struct stat> named = StatPath(first_path_);
  if (!named) {
    // The name is gone or out of reach, so nothing has replaced the file yet. A
    // later file of that name does not change this one's ctime, so the path is
    // examined again at the next read.
    path_examined_ns_.store(0, std::memory_order_relaxed);
    return false;
  }
  return !identity_.SameFile(FileIdentity::Of(*named));
}

Result<struct stat> FileSource::Examine(bool path) const {
  struct stat st {};
  if (::fstat(file_->fd.get(), &st) != 0) return IoError("cannot be examined");
  const FileIdentity now = FileIdentity::Of(st);
  const bool touched = options_.watch_ctime && now.ctime != identity_.ctime;
  if (!now.EqualButForCtime(identity_) ||
      ((path || touched) && PathLeadsElsewhere())) {
    state_.store(State::kChanged, std::memory_order_relaxed);
  } else if (touched) {
    State unchanged = State::kUnchanged;
    state_.compare_exchange_strong(unchanged, State::kTouched,
                                   std::memory_order_relaxed);
  }
  return st;
}

Status FileSource::CheckUnchanged() const {
  CTXFS_TRY(Examine(PathIsDue()));
  if (state_.load(std::memory_order_relaxed) == State::kUnchanged) return {};
  return Error{Code::kStale, "the container changed under the mount"};
}

Result<SourcePtr> FileSource::Renew() const {
  const struct stat examined = CTXFS_TRY(Examine(/*path=*/true));
  if (!options_.watch_ctime || companions_->replaced() ||
      state_.load(std::memory_order_relaxed) == State::kChanged) {
    return Error{Code::kStale, "the container changed under the mount"};
  }
  // Keeps the owner and permissions of the first open: the kernel caches those
  // of the container's files for good.
  struct stat st = examined;
  st.st_uid = read_access_.uid;
  st.st_gid = read_access_.gid;
  st.st_mode = S_IFREG | read_access_.bits;
  return SourcePtr(new FileSource(file_, first_path_, st, options_,
                                  std::make_shared<Companions>(*companions_)));
}

namespace {

/// Fills `out` from `bytes`. Copies nothing if `bytes` do not have the whole
/// range.
Status CopyOut(Bytes bytes, uint64_t offset, MutableBytes out) {
  if (!InBounds(offset, out.size(), bytes.size())) return PastTheEnd(offset);
  if (!out.empty()) {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
  }
  return {};
}

}  // namespace

Status SliceSource::ReadAt(uint64_t offset, MutableBytes out,
                           const Request& request) const {
  if (!InBounds(offset, out.size(), size_)) return PastTheEnd(offset);
  return from().ReadAt(offset_ + offset, out, request);
}

void SliceSource::Prefetch(std::span<const SourceRange> ranges) const {
  std::vector<SourceRange> moved;
  for (const auto& [offset, length] : ranges) {
    if (offset >= size_) continue;
    moved.push_back({offset_ + offset, std::min(length, size_ - offset)});
  }
  from().Prefetch(moved);
}

Status UnpackedSource::ReadAt(uint64_t offset, MutableBytes out,
                              const Request& /*request*/) const {
  CTXFS_TRY(CopyOut(bytes_.span(), offset, out));
  return CheckUnchanged();
}

Status MemorySource::ReadAt(uint64_t offset, MutableBytes out,
                            const Request& /*request*/) const {
  return CopyOut(AsBytes(bytes_), offset, out);
}

Result<Buffer> ReadBuffer(const Source& source, uint64_t offset,
                          uint64_t length, const char* what,
                          const Request& request) {
  if (!InBounds(offset, length, source.size())) {
    return Error{
        Code::kCorrupt,
        fmt::format("{} of {} bytes does not fit in the container's {}", what,
                    length, source.size()),
        offset};
  }
  CTXFS_TRY(HeapAllowance::Admit(length));
  Buffer buffer(static_cast<size_t>(length));
  constexpr size_t kPiece = 8 << 20;
  MutableBytes rest = buffer.span();
  do {
    CTXFS_TRY(request.Check());
    const MutableBytes piece = rest.first(std::min(kPiece, rest.size()));
    CTXFS_TRY(source.ReadAt(offset, piece, request));
    offset += piece.size();
    rest = rest.subspan(piece.size());
  } while (!rest.empty());
  return buffer;
}

}  // namespace ctxfs
