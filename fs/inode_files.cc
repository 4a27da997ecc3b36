// SPDX-License-Identifier: Apache-2.0
#include "fs/inode_files.h"

#include <ctime>
#include <utility>

namespace ctxfs {
namespace {

// Of both: the kernel forgets files that it has no memory for.
constexpr size_t kMostFiles = 200'000;
constexpr size_t kMostTexts = 16;

FileTime Now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return FileTime::Of(now);
}

}  // namespace

Result<std::shared_ptr<FileHandle>> InodeFiles::Open(
    Inode file, const ReadContext& context) {
  OpenFile opened = CTXFS_TRY(OpenNow(file, context));
  return std::make_shared<FileHandle>(files_, file, std::move(opened));
}

Result<OpenFile> InodeFiles::OpenNow(Inode file, const ReadContext& context) {
  OpenFile opened = CTXFS_TRY(files_.Open(file, context));
  CTXFS_TRY(made_.Find(file, opened, context));
  const bool had_pages = NotePages(file);
  if (opened.lifetime == Lifetime::kNone) {
    // The kernel drops pages of it when its time changes (Check).
    opened.content = TextOf(file, std::move(opened.content)).content;
    return opened;
  }
  if (had_pages && !opened.same_pages) pages_.Drop(file);
  opened.NoteOpened(file);
  return opened;
}

InodeFiles::Text InodeFiles::TextOf(Inode file, Content now) {
  constexpr std::chrono::seconds kLasts(1);
  const Clock::time_point time = Clock::now();
  const MutexLock lock(mutex_);
  const auto found = texts_.find(file);
  if (found != texts_.end() && time - found->second.made < kLasts) {
    return found->second;
  }
  if (texts_.size() >= kMostTexts) texts_.clear();
  return texts_[file] = {std::move(now), time, Now()};
}

uint64_t InodeFiles::NoteAsked(Inode file, uint64_t size) {
  const MutexLock lock(mutex_);
  const auto found = asked_.find(file);
  if (found == asked_.end()) return 0;
  return std::exchange(found->second, found->second + size);
}

bool InodeFiles::NotePages(Inode file) {
  const MutexLock lock(mutex_);
  if (!asked_.emplace(file, 0).second) return true;
  if (asked_.size() <= kMostFiles) return false;
  auto other = asked_.begin();
  if (other->first == file) ++other;
  pages_.Drop(other->first);
  asked_.erase(other);
  return false;
}

bool InodeFiles::HasPages(Inode file) const {
  const MutexLock lock(mutex_);
  return asked_.contains(file);
}

void InodeFiles::Forget(Inode file) {
  const MutexLock lock(mutex_);
  texts_.erase(file);
  // Should it only forget a look-up that failed, it must not keep pages that
  // nobody knows of.
  if (asked_.erase(file) != 0) pages_.Drop(file);
}

Status InodeFiles::Check(Inode file, Attributes& attributes,
                         const ReadContext& context) {
  const bool text = attributes.lifetime == Lifetime::kNone;
  if (attributes.directory || (!text && !HasPages(file))) return {};
  const OpenFile opened = CTXFS_TRY(OpenNow(file, context));
  if (!text) return {};
  attributes.size = opened.content.size();
  const MutexLock lock(mutex_);
  const auto found = texts_.find(file);
  if (found != texts_.end()) attributes.mtime = found->second.mtime;
  return {};
}

}  // namespace ctxfs
