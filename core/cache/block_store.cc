// SPDX-License-Identifier: Apache-2.0
#include "core/cache/block_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/assert.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"
#include "core/cache/block_files.h"
#include "core/codec/crypto/digest.h"
#include "core/io/io_error.h"

namespace ctxfs {

using block_files::FileName;
using block_files::kDirectoryFlags;
using block_files::kLock;
using block_files::kRecord;
using block_files::Nanoseconds;
using block_files::OpenRegular;
using block_files::ParseFileName;
using block_files::RemoveForeign;

namespace {

constexpr size_t kMaxObjects = 256;
// Evicts 1/16 of the store at a time.
constexpr uint64_t kParts = 16;

/// Writes the head and the blocks of a file, by one call if possible: the
/// kernel uses large pages for large writes. Returns 0 or an errno.
int WriteAll(int fd, Bytes head, const std::vector<Bytes>& blocks) {
  std::vector<iovec> left = {
      {const_cast<std::byte*>(head.data()), head.size()}};
  for (const Bytes block : blocks) {
    left.push_back({const_cast<std::byte*>(block.data()), block.size()});
  }
  for (auto from = left.begin(); from != left.end();) {
    ssize_t n = ::writev(fd, &*from, static_cast<int>(left.end() - from));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? EIO : errno;
    for (; from != left.end() && n >= static_cast<ssize_t>(from->iov_len);
         ++from) {
      n -= static_cast<ssize_t>(from->iov_len);
    }
    if (from == left.end()) break;
    from->iov_base = static_cast<std::byte*>(from->iov_base) + n;
    from->iov_len -= static_cast<size_t>(n);
  }
  return 0;
}

/// Creates `path` and its parents, with mode 0700.
Status MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return IoError("cannot make the cache directory " + Quote(part));
    }
    if (end == path.npos) return {};
  }
}

}  // namespace

Result<std::unique_ptr<BlockStore>> BlockStore::Open(
    const std::string& directory, uint64_t most, Damaged damaged) {
  CTXFS_TRY(block_files::CheckAbsolute(directory));
  CTXFS_TRY(MakeDirectories(directory));
  Fd top = CTXFS_TRY(block_files::OpenTop(directory));
  struct stat st {};
  if (::fstat(top.get(), &st) == 0 && (st.st_mode & 077) != 0) {
    if (block_files::HasOtherFiles(top.get())) {
      return Error{Code::kIo,
                   "the cache directory " + Quote(directory) +
                       " has files that are not the cache's and that others "
                       "may read: expected a directory for the cache alone, or "
                       "mode 0700"};
    }
    (void)::fchmod(top.get(), 0700);
  }
  return std::unique_ptr<BlockStore>(
      new BlockStore(std::move(top), most, damaged));
}

BlockStore::Object* BlockStore::Find(const std::string& digest, bool create) {
  const std::string name = Hex(digest);
  if (objects_.size() >= kMaxObjects && !objects_.contains(name)) {
    objects_.clear();  // each holds a descriptor
  }
  Object& object = objects_[name];
  CTXFS_ASSERT(objects_.size() <= kMaxObjects);
  struct stat st {};
  // Another process may have removed the directory.
  const bool gone =
      object.directory.ok() &&
      (::fstat(object.directory.get(), &st) != 0 || st.st_nlink == 0);
  if (gone) object = {};
  if (!object.directory.ok()) object.directory = OpenObject(name, create);
  if (!object.directory.ok()) return nullptr;
  List(object);
  return &object;
}

Fd BlockStore::OpenObject(const std::string& name, bool create) const {
  Fd directory(::openat(top_.get(), name.c_str(), kDirectoryFlags));
  if (directory.ok() || !create) return directory;
  if (errno != ENOENT) (void)RemoveForeign(top_.get(), name.c_str());
  if (::mkdirat(top_.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
    return Fd(-1);
  }
  return Fd(::openat(top_.get(), name.c_str(), kDirectoryFlags));
}

void BlockStore::List(Object& object) {
  // A large object can have 100,000 files, so listings are rare.
  constexpr std::chrono::seconds kBetweenLists(1);
  if (Clock::now() - object.listed < kBetweenLists) return;
  struct stat st {};
  if (::fstat(object.directory.get(), &st) != 0) return;
  if (Nanoseconds(st.st_mtim) == object.seen_ns) return;
  object.seen_ns = Nanoseconds(st.st_mtim);
  object.listed = Clock::now();
  object.runs.clear();
  const auto add = [&object](const std::string& name) {
    const auto parsed = ParseFileName(name);
    if (!parsed) return;
    const auto [first, count] = *parsed;
    Run& run = object.runs[first + count - 1];
    if (run.count < count) run = {first, count};
  };
  block_files::ForEachName(object.directory.get(), add);
}

BlockStore::Run* BlockStore::RunWith(Object& object, uint64_t number) {
  auto at = object.runs.lower_bound(number);
  // The next run to end may start after `number`. A longer run that ends later
  // may still contain `number`.
  for (unsigned i = 0; i < kMaxBlocks && at != object.runs.end(); ++i, ++at) {
    const Run& run = at->second;
    CTXFS_ASSERT(run.count > 0 && run.count <= kMaxBlocks);
    CTXFS_ASSERT(run.first + run.count - 1 == at->first);
    if (run.first <= number) return &at->second;
  }
  return nullptr;
}

uint64_t BlockStore::NextIn(const Object& object, uint64_t number,
                            uint64_t end) {
  uint64_t next = end;
  for (auto at = object.runs.lower_bound(number); at != object.runs.end();
       ++at) {
    // A run has at most kMaxBlocks blocks, so all runs from here on start after
    // `next`.
    if (at->first >= next + kMaxBlocks) break;
    next = std::min(next, std::max(number, at->second.first));
  }
  return next;
}

uint64_t BlockStore::NextKept(const std::string& key, uint64_t number,
                              uint64_t end) {
  const std::string digest = DigestOf(key);
  const MutexLock lock(mutex_);
  const Object* const object = Find(digest, /*create=*/false);
  return object == nullptr ? end : NextIn(*object, number, end);
}

void BlockStore::DropDamaged(const std::string& digest, uint64_t first,
                             uint32_t count) {
  if (damaged_ == Damaged::kKept) return;
  const MutexLock lock(mutex_);
  Object* const object = Find(digest, /*create=*/false);
  if (object == nullptr) return;
  (void)::unlinkat(object->directory.get(), FileName(first, count).c_str(), 0);
  object->runs.erase(first + count - 1);
}

std::pair<Fd, BlockStore::Run> BlockStore::OpenRun(const std::string& digest,
                                                   uint64_t number) {
  constexpr std::chrono::seconds kBetweenTouches(60);
  const MutexLock lock(mutex_);
  Object* const object = Find(digest, /*create=*/false);
  Run* const run = object == nullptr ? nullptr : RunWith(*object, number);
  if (run == nullptr) return {Fd(-1), Run{0, 0}};
  const std::string name = FileName(run->first, run->count);
  const int directory = object->directory.get();
  Fd file = OpenRegular(directory, name.c_str());
  if (file.ok() && Clock::now() - run->touched > kBetweenTouches) {
    run->touched = Clock::now();
    (void)::futimens(file.get(), nullptr);
  }
  if (file.ok()) return {std::move(file), *run};
  // Drops the run if another process removed the file, or if it is no regular
  // file. Other failures are transient.
  const bool gone = errno == ENOENT || (damaged_ == Damaged::kDropped &&
                                        RemoveForeign(directory, name.c_str()));
  if (gone) object->runs.erase(run->first + run->count - 1);
  return {Fd(-1), Run{0, 0}};
}

std::optional<BlockFile> BlockStore::OpenFile(const std::string& key,
                                              uint64_t number) {
  const std::string digest = DigestOf(key);
  auto [file, run] = OpenRun(digest, number);
  if (run.count == 0) return std::nullopt;
  std::optional<BlockFile> opened =
      BlockFile::Load(std::move(file), run.first, run.count, digest);
  if (!opened) DropDamaged(digest, run.first, run.count);
  return opened;
}

size_t BlockStore::Read(const std::string& key, uint64_t first,
                        std::span<const MutableBytes> out) {
  const std::optional<BlockFile> file = OpenFile(key, first);
  if (!file) return 0;
  const std::span<const MutableBytes> wanted = out.first(
      static_cast<size_t>(std::min<uint64_t>(out.size(), file->end() - first)));
  const size_t done = file->Read(first, wanted);
  if (done < wanted.size()) {
    DropDamaged(DigestOf(key), file->first(), file->count());
  }
  return done;
}

std::string BlockStore::DigestOf(const std::string& key) {
  Sha256 digest;
  digest.Update(AsBytes(key));
  return digest.Raw();
}

bool BlockStore::TakeDue() {
  const MutexLock lock(mutex_);
  // Any write makes the first eviction due, because earlier writes of other
  // processes are unknown.
  if (unseen_ <= (seen_ ? most_ / kParts : 0)) return false;
  unseen_ = 0;
  seen_ = true;
  return true;
}

bool BlockStore::TakeFull() {
  const MutexLock lock(mutex_);
  return std::exchange(full_, false);
}

bool BlockStore::IsEmpty() const {
  return !block_files::HasObjects(top_.get());
}

void BlockStore::MakeRoom() {
  if (TakeFull() && Evict(most_ / 2) > 0) {
    const MutexLock lock(mutex_);
    pause_.Shorten();
  }
  if (TakeDue()) (void)Evict(most_ - most_ / kParts);
}

int BlockStore::refusal() const {
  const MutexLock lock(mutex_);
  return pause_.error();
}

Fd BlockStore::OpenUnfinished(const std::string& digest, std::string* name) {
  const MutexLock lock(mutex_);
  *name =
      fmt::format("{}{}-{}", block_files::kUnfinished, ::getpid(), written_++);
  // Retries once if an eviction has just removed the empty directory.
  for (int attempt = 0; attempt < 2; ++attempt) {
    Object* const object = Find(digest, /*create=*/true);
    if (object == nullptr) break;
    Fd file(::openat(object->directory.get(), name->c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.ok() || errno != ENOENT) return file;
  }
  return Fd(-1);
}

int BlockStore::Finish(const std::string& digest, const std::string& name,
                       const std::string& last, int failed) {
  const MutexLock lock(mutex_);
  Object* const object = Find(digest, /*create=*/false);
  if (object == nullptr) return failed == 0 ? ENOENT : failed;
  const int directory = object->directory.get();
  const auto rename = [&] {
    return ::renameat(directory, name.c_str(), directory, last.c_str()) == 0;
  };
  if (failed == 0) {
    if (rename()) return 0;
    failed = errno;
    // rename(2) cannot replace a directory by a file.
    if (RemoveForeign(directory, last.c_str()) && rename()) return 0;
  }
  (void)::unlinkat(directory, name.c_str(), 0);
  return failed;
}

int BlockStore::WriteFile(const std::string& digest, const std::string& last,
                          uint64_t first, const std::vector<Bytes>& blocks) {
  std::string name;
  const Fd file = OpenUnfinished(digest, &name);
  if (!file.ok()) return errno;
  const std::string head = BlockFile::HeadOf(digest, first, blocks);
  const int failed = WriteAll(file.get(), AsBytes(head), blocks);
  return Finish(digest, name, last, failed);
}

bool BlockStore::Keep(const std::string& digest, const std::string& last,
                      uint64_t first, const std::vector<Bytes>& blocks) {
  {
    const MutexLock lock(mutex_);
    if (!pause_.MayWrite()) return false;
  }
  const int failed = WriteFile(digest, last, first, blocks);
  const MutexLock lock(mutex_);
  pause_.Note(failed);
  if (failed == 0) kept_ = true;
  if (WritePause::IsFull(failed)) full_ = full_ || std::exchange(kept_, false);
  return failed == 0;
}

bool BlockStore::Write(const std::string& key, uint64_t first,
                       const std::vector<Bytes>& blocks) {
  if (blocks.empty() || blocks.size() > kMaxBlocks) return false;
  const std::string digest = DigestOf(key);
  const Run run{first, static_cast<uint32_t>(blocks.size())};
  if (!Keep(digest, FileName(run.first, run.count), first, blocks)) {
    return false;
  }
  const MutexLock lock(mutex_);
  unseen_ += run.count * kBlockBytes;
  Object* const object = Find(digest, /*create=*/false);
  if (object != nullptr) object->runs[run.first + run.count - 1] = run;
  return true;
}

std::optional<std::string> BlockStore::ReadRecord(const std::string& key) {
  const std::string digest = DigestOf(key);
  const Fd directory = OpenObject(Hex(digest), /*create=*/false);
  Fd file = OpenRegular(directory.get(), kRecord.data());
  const auto head = static_cast<off_t>(BlockFile::HeadBytes(1));
  struct stat st {};
  if (!file.ok() || ::fstat(file.get(), &st) != 0 || st.st_size < head ||
      st.st_size > head + static_cast<off_t>(kBlockBytes)) {
    return std::nullopt;
  }
  std::string record(static_cast<size_t>(st.st_size - head), '\0');
  const MutableBytes out = std::as_writable_bytes(std::span(record));
  const auto loaded = BlockFile::Load(std::move(file), 0, 1, digest);
  if (!loaded || loaded->Read(0, {&out, 1}) != 1) return std::nullopt;
  (void)::futimens(loaded->descriptor(), nullptr);
  return record;
}

void BlockStore::WriteRecord(const std::string& key,
                             const std::string& record) {
  if (record.size() > kBlockBytes) return;
  const std::vector<Bytes> block = {AsBytes(record)};
  if (!Keep(DigestOf(key), std::string(kRecord), 0, block)) return;
  const MutexLock lock(mutex_);
  unseen_ += BlockFile::HeadBytes(1) + record.size();
}

namespace {

Fd OpenLock(int top) {
  constexpr int kFlags =
      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  (void)RemoveForeign(top, kLock);
  return Fd(::openat(top, kLock, kFlags, 0600));
}

}  // namespace

uint64_t BlockStore::Evict(uint64_t most) const {
  // Evicts even without a lock file: two evictions at the same time are better
  // than none.
  const Fd lock = OpenLock(top_.get());
  if (lock.ok() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 0;
  struct File {
    int64_t used_ns;
    uint64_t bytes;
    std::string path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  const auto add = [&](const std::string& object, int directory) {
    const auto add_file = [&](const block_files::File& file) {
      if (file.abandoned()) {
        (void)::unlinkat(directory, file.name.c_str(), 0);
      }
      if (file.unfinished()) return;
      total += file.bytes;
      files.push_back({file.used_ns, file.bytes, object + "/" + file.name});
    };
    block_files::ForEachFile(directory, add_file);
    // Removes the directory only if it is empty.
    (void)::unlinkat(top_.get(), object.c_str(), AT_REMOVEDIR);
  };
  block_files::ForEachObject(top_.get(), add);
  std::ranges::sort(files, {}, &File::used_ns);
  uint64_t dropped = 0;
  for (const File& file : files) {
    if (total - dropped <= most) break;
    if (::unlinkat(top_.get(), file.path.c_str(), 0) == 0)
      dropped += file.bytes;
  }
  return dropped;
}

std::string CacheDirectory(const Environment& environment) {
  if (std::string own = environment("CTXFS_CACHE_DIR"); !own.empty()) {
    return own;
  }
  // The XDG base directory specification ignores relative paths.
  const std::string base = environment("XDG_CACHE_HOME");
  if (base.starts_with('/')) return base + "/ctxfs";
  const std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/.cache/ctxfs" : "";
}

uint64_t CacheBytes(const Environment& environment) {
  const uint64_t bytes =
      WholeNumber<uint64_t>(environment("CTXFS_CACHE_BYTES")).value_or(0);
  return bytes > 0 ? bytes : 10 * limits::kGiB;
}

}  // namespace ctxfs
