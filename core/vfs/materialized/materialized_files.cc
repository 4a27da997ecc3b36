// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/materialized/materialized_files.h"

#include <algorithm>
#include <cerrno>

#include "core/base/limits.h"
#include "core/base/mutex_unlock.h"
#include "core/codec/crypto/keyed_digest.h"
#include "core/content/made_file.h"
#include "core/content/read_through.h"
#include "core/content/spill_store.h"
#include "core/version.h"
#include "core/vfs/log.h"

namespace ctxfs {
namespace {

// Minimum bytes of a materialised file. The kernel has cached all pages of a
// smaller file after a few reads, and registering a backing file takes as long
// as one read.
constexpr uint64_t kLeastSize = limits::kMiB;
// Bounds the queue for a reader of many files.
constexpr size_t kMaxQueued = 64;

Result<std::string> DigestOf(const SpillFile::Part& part,
                             const std::string& key,
                             const ReadContext& context) {
  KeyedDigest digest(key);
  Buffer piece(limits::kMiB);
  for (uint64_t at = 0; at < part.size(); at += piece.size()) {
    CTXFS_TRY(context.Check());
    const MutableBytes room =
        piece.span().first(std::min<uint64_t>(piece.size(), part.size() - at));
    CTXFS_TRY(part.Read(at, room));
    digest.Update(room);
  }
  return digest.Hex();
}

}  // namespace

MaterializedFiles::~MaterializedFiles() { Stop(); }

void MaterializedFiles::Stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_.Set();
    queue_.clear();
    changed_.NotifyAll();
    thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

void MaterializedFiles::WriteTo(std::shared_ptr<SpillFile> files, bool copies) {
  files_ = std::move(files);
  copies_ = copies;
}

SpillFile::Loan MaterializedFiles::FindMade(Inode inode, const OpenFile& file) {
  LruMap<Inode, Made>::Removed other;  // freed without the lock
  const MutexLock lock(mutex_);
  const Made* const made = made_.Use(inode);
  if (made == nullptr) return nullptr;
  if (made->made_from.lock() != file.made_from ||
      made->part->size() != file.content.size()) {
    other = made_.Remove(inode);
    return nullptr;
  }
  return files_->Lend(made->part, UINT64_MAX);
}

Status MaterializedFiles::Find(Inode inode, OpenFile& file,
                               const ReadContext& context) {
  if (file.backing != nullptr || file.made_from == nullptr) return {};
  if (const auto block = file.content.AsBlock()) {
    SpillFile::Loan decoded = FindFile(cache_, *block);
    if (decoded != nullptr && decoded->size() == file.content.size()) {
      file.backing = std::make_shared<const MadeFile>(file.made_from, decoded);
      return {};
    }
  }
  if (files_ == nullptr) return {};
  SpillFile::Loan made = FindMade(inode, file);
  if (made == nullptr) made = CTXFS_TRY(TakeUp(inode, file, context));
  if (made == nullptr || !file.made_from->CheckAllUnchanged()) return {};
  file.backing = std::make_shared<const MadeFile>(file.made_from, made);
  file.content = Content(Range{file.backing, 0, nullptr}, made->size());
  file.entries = nullptr;  // so that nothing is prefetched for this reader
  const MutexLock lock(mutex_);
  ++stats_.opened;
  return {};
}

bool MaterializedFiles::IsWorthIt(const OpenFile& file) const {
  if (files_ == nullptr || file.backing != nullptr ||
      file.made_from == nullptr || file.lifetime == Lifetime::kNone ||
      file.content.size() < kLeastSize ||
      file.content.size() > files_->most()) {
    return false;
  }
  return copies_ || file.content.WorkExceeds(0);
}

bool MaterializedFiles::IsWanted(const std::string& path) const {
  return only_.empty() || only_.Match(path);
}

void MaterializedFiles::NoteRead(Inode inode,
                                 std::shared_ptr<const OpenFile> file) {
  if (!IsWorthIt(*file)) return;
  const ReadContext context(cache_, stopping_);
  if (only_.empty() || IsWanted(path_(inode, context))) {
    TryQueue({inode, std::move(file)});
  }
}

void MaterializedFiles::NoteClosed(Inode inode) {
  if (drop_pages_ == nullptr) return;
  {
    const MutexLock lock(mutex_);
    const Made* const made = made_.Peek(inode);
    if (made == nullptr || !made->has_pages) return;
  }
  TryQueue({inode, nullptr});
}

void MaterializedFiles::TryQueue(Job job) {
  try {
    Queue(std::move(job));
  } catch (...) {  // no memory or no thread
    // The file is served without a materialised copy.
  }
}

void MaterializedFiles::Queue(Job job) {
  const MutexLock lock(mutex_);
  const bool queued =
      std::any_of(queue_.begin(), queue_.end(), [&](const Job& one) {
        return one.inode == job.inode && !one.file == !job.file;
      });
  if (queued || queue_.size() >= kMaxQueued || stopping_.interrupted()) return;
  queue_.push_back(std::move(job));
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.NotifyAll();
}

void MaterializedFiles::Run() {
  const MutexLock lock(mutex_);
  while (!stopping_.interrupted()) {
    if (queue_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    Job job = std::move(queue_.front());
    queue_.pop_front();
    const MutexUnlock unlocked(mutex_);
    try {
      Do(job);
    } catch (...) {
      // The file is served without a materialised copy.
    }
    job = {};  // may be the last reference to the container
  }
}

void MaterializedFiles::Do(const Job& job) {
  if (job.file != nullptr) {
    if (const Status written = Write(job); !written) Warn(written.error());
  }
  Drop(job.inode);
}

SourcePtr MaterializedFiles::WithPages(Inode inode) {
  const MutexLock lock(mutex_);
  const Made* const made = made_.Peek(inode);
  if (made == nullptr || !made->has_pages) return nullptr;
  SourcePtr from = made->made_from.lock();
  if (from == nullptr) return nullptr;
  return std::make_shared<const MadeFile>(std::move(from),
                                          files_->Lend(made->part, UINT64_MAX));
}

void MaterializedFiles::Drop(Inode inode) {
  if (drop_pages_ == nullptr) return;
  const SourcePtr with_pages = WithPages(inode);
  if (with_pages == nullptr || !drop_pages_(inode, with_pages)) return;
  const MutexLock lock(mutex_);
  Made* const made = made_.Peek(inode);
  if (made != nullptr) made->has_pages = false;
}

Status MaterializedFiles::Write(const Job& job) {
  const OpenFile& file = *job.file;
  if (FindMade(job.inode, file) != nullptr) return {};
  const uint64_t size = file.content.size();
  CTXFS_TRY(files_->CouldHold(size));
  const Part part =
      CTXFS_TRY(WithRoom(size, [&] { return files_->Reserve(size); }));
  if (part == nullptr) return {};  // open files take all space
  const ReadContext context(cache_, stopping_);
  Status stored;
  uint64_t at = 0;
  const std::optional<KeptName> name = NameOf(job.inode, file, context);
  KeyedDigest digest(name ? kept_->KeyFor(*name) : "");
  const Status read =
      ReadThrough(file.content, context, [&](Bytes piece) -> Status {
        digest.Update(piece);
        stored = part->Write(at, piece);
        at += piece.size();
        return stored;
      });
  if (!stored) return stored;
  // The error is reported to a later reader.
  if (!read || !file.made_from->CheckAllUnchanged()) return {};
  const std::string hex = digest.Hex();
  if (name && !hex.empty()) {
    kept_->Keep(*name, part->descriptor(), hex, part);
  }
  Add(job.inode, file, part, /*has_pages=*/true);
  const MutexLock lock(mutex_);
  ++stats_.written;
  return {};
}

void MaterializedFiles::Add(Inode inode, const OpenFile& file, Part part,
                            bool has_pages) {
  LruMap<Inode, Made>::Removed other;  // freed without the lock
  const MutexLock lock(mutex_);
  other = made_.Put(inode, {file.made_from, std::move(part), has_pages});
}

std::optional<KeptName> MaterializedFiles::NameOf(
    Inode inode, const OpenFile& file, const ReadContext& context) const {
  // The digit is a version. It must be raised when a change of the code gives a
  // file of the same path other bytes.
  constexpr const char* kMade = "file 2 of ";
  if (kept_ == nullptr || file.made_from->descriptor() < 0 ||
      file.made_from->asked_others()) {
    return std::nullopt;
  }
  const std::string path = path_(inode, context);
  if (path.empty() || !IsWanted(path)) return std::nullopt;
  // The key has the name of the container, because views/overview.html shows
  // this name, and a container can have several names, which are links. A name
  // has no slash, so the key is unambiguous.
  return KeptName{file.made_from, kMade + std::string(kVersion) + ":" +
                                      file.made_from->name() + "/" + path};
}

bool MaterializedFiles::MayBeKept(Inode inode, const OpenFile& file) const {
  if (kept_ == nullptr || !IsWorthIt(file)) return false;
  const MutexLock lock(mutex_);
  return !missed_.contains(inode);
}

Result<SpillFile::Loan> MaterializedFiles::TakeUp(Inode inode,
                                                  const OpenFile& file,
                                                  const ReadContext& context) {
  constexpr size_t kMaxMissed = 100'000;
  if (!MayBeKept(inode, file)) return SpillFile::Loan();
  const std::optional<KeptName> name = NameOf(inode, file, context);
  std::optional<PersistentCache::Kept> kept;
  if (name) kept = kept_->Take(*name);
  if (kept) {
    const uint64_t size = file.content.size();
    CTXFS_TRY(context.CheckFor(size));
    const Result<Part> adopted =
        WithRoom(size, [&] { return files_->Adopt(kept->file, size); });
    // There is no room for it now. A later open adopts it, once other files are
    // closed.
    if (!adopted || *adopted == nullptr) return SpillFile::Loan();
    const Part& part = *adopted;
    Result<std::string> digest = DigestOf(*part, kept_->KeyFor(*name), context);
    if (!digest && digest.error().code == Code::kInterrupted) {
      return std::move(digest).error();
    }
    if (digest && !digest->empty() && *digest == kept->digest &&
        kept->size == size) {
      Add(inode, file, part, /*has_pages=*/false);
      const MutexLock lock(mutex_);
      ++stats_.taken;
      return files_->Lend(part, UINT64_MAX);
    }
    Log(LogLevel::kWarning, "a materialised file is damaged, and removed");
    kept_->Drop(*name, kept->digest);
  }
  const MutexLock lock(mutex_);
  if (missed_.size() >= kMaxMissed) missed_.clear();
  missed_.insert(inode);
  return SpillFile::Loan();
}

template <typename Take>
Result<MaterializedFiles::Part> MaterializedFiles::WithRoom(uint64_t size,
                                                            const Take& take) {
  while (true) {
    Result<Part> part = take();
    if (part || part.error().sys_errno != ENOSPC) return part;
    if (EvictOldest()) continue;
    if (files_->bytes() > files_->most() - size) return Part();
    return part;
  }
}

bool MaterializedFiles::EvictOldest() {
  LruMap<Inode, Made>::Removed oldest;  // freed without the lock
  const MutexLock lock(mutex_);
  oldest = made_.RemoveOldest(
      [this](const Made& one) { return !files_->IsLent(*one.part); });
  return !oldest.empty();
}

void MaterializedFiles::Warn(const Error& error) {
  if (warned_) return;
  warned_ = true;
  Log(LogLevel::kWarning, "not materialised: " + error.Text());
}

MaterializedFiles::Stats MaterializedFiles::stats() const {
  const MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.files = made_.size();
  if (files_ != nullptr) stats.bytes = files_->bytes();
  return stats;
}

}  // namespace ctxfs
