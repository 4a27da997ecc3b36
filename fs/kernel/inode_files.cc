// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel/inode_files.h"

#include <cstdint>
#include <utility>

namespace ctxfs {
namespace {

// Maximum number of tracked files. Beyond it, some files are no longer tracked.
// So once it is reached, the kernel may have pages of any file.
constexpr size_t kMaxFiles = 200'000;
// Maximum number of texts whose current version is stored.
constexpr size_t kMaxTexts = 16;
// How long answers make the kernel drop outdated pages (MustDrop), and how long
// a text that differs at each open stays the same after its last read.
constexpr std::chrono::seconds kMoment(1);
constexpr uint32_t kSecondNs = 1'000'000'000;

}  // namespace

Result<std::shared_ptr<FileHandle>> InodeFiles::Open(
    Inode file, const ReadContext& context) {
  OpenFile opened = CTXFS_TRY(files_.Open(file, context));
  CTXFS_TRY(made_.Find(file, opened, context));
  if (opened.lifetime == Lifetime::kNone) {
    opened.content = TextOf(file, std::move(opened.content)).content;
  }
  // Outdated pages stay outdated until Check makes the kernel drop them.
  if (!NotePages(file) || opened.same_pages) opened.NoteOpened(file);
  return std::make_shared<FileHandle>(files_, file, std::move(opened));
}

InodeFiles::Text InodeFiles::TextOf(Inode file, Content now) {
  const Clock::time_point time = Clock::now();
  const MutexLock lock(mutex_);
  const auto found = texts_.find(file);
  const bool known = found != texts_.end();
  if (known && !found->second.over && time - found->second.used < kMoment) {
    return found->second;
  }
  uint32_t version = known ? found->second.version : versions_;
  if (known && found->second.was_read) version = ++versions_;
  if (!known && texts_.size() >= kMaxTexts) {
    texts_.clear();
    version = ++versions_;
  }
  return texts_[file] = {std::move(now), version, time};
}

void InodeFiles::EndText(Inode file) {
  const MutexLock lock(mutex_);
  const auto found = texts_.find(file);
  if (found != texts_.end()) found->second.over = !found->second.being_read;
}

uint64_t InodeFiles::NoteAsked(Inode file, uint64_t from, uint64_t size) {
  const Clock::time_point time = Clock::now();
  const MutexLock lock(mutex_);
  if (const auto text = texts_.find(file); text != texts_.end()) {
    Text& read = text->second;
    read.used = time;
    read.was_read = true;
    if (from == 0 || from == read.read_to) {
      read.read_to = from + size;
      read.being_read = read.read_to < read.content.size();
    }
  }
  const auto found = known_.find(file);
  if (found == known_.end()) return 0;
  uint64_t& asked = found->second.asked;
  return std::exchange(asked, asked + size);
}

bool InodeFiles::NotePages(Inode file) {
  const MutexLock lock(mutex_);
  const bool had_pages = HasPagesLocked(file);
  Remember(file);
  return had_pages;
}

InodeFiles::Known& InodeFiles::Remember(Inode file) {
  const auto [known, added] = known_.try_emplace(file);
  if (added && known_.size() > kMaxFiles) {
    auto other = known_.begin();
    while (other == known || other->second.until_change) ++other;
    known_.erase(other);
  }
  return known->second;
}

bool InodeFiles::HasPagesLocked(Inode file) const {
  return known_.size() >= kMaxFiles || known_.contains(file);
}

bool InodeFiles::HasPages(Inode file) const {
  const MutexLock lock(mutex_);
  return HasPagesLocked(file);
}

std::vector<Inode> InodeFiles::WithPages() const {
  const MutexLock lock(mutex_);
  std::vector<Inode> files;
  files.reserve(known_.size());
  for (const auto& [file, known] : known_) files.push_back(file);
  return files;
}

bool InodeFiles::LastsUntilChange(Inode file, const OpenFile& opened) {
  if (!changes_reported_ || opened.made_from == nullptr ||
      !opened.content.ReadsOnly(*opened.made_from, 0, SIZE_MAX)) {
    return false;
  }
  const MutexLock lock(mutex_);
  Known& known = Remember(file);
  if (!known.until_change && until_change_ < kMaxFiles / 2) {
    known.until_change = true;
    ++until_change_;
  }
  return known.until_change;
}

bool InodeFiles::MustDrop(Inode file) {
  const Clock::time_point now = Clock::now();
  const MutexLock lock(mutex_);
  Clock::time_point& since = Remember(file).bad_since;
  if (since == Clock::time_point()) since = now;
  if (now - since < kMoment) return true;
  since = {};
  return false;
}

Status InodeFiles::Check(Inode file, Attributes& attributes,
                         const ReadContext& context) {
  const bool text = attributes.lifetime == Lifetime::kNone;
  if (attributes.directory || (!text && !HasPages(file))) return {};
  OpenFile opened = CTXFS_TRY(files_.Open(file, context));
  if (text) {
    const Text read = TextOf(file, std::move(opened.content));
    attributes.size = read.content.size();
    attributes.mtime.nanoseconds =
        (attributes.mtime.nanoseconds + read.version) % kSecondNs;
  } else if (!opened.same_pages && MustDrop(file)) {
    attributes.mtime.nanoseconds ^= 1;
    attributes.lifetime = Lifetime::kNone;
  } else if (!opened.same_pages) {
    // MustDrop returned false, so `attributes` keeps the true mtime, which
    // makes the kernel drop the pages once more.
    opened.NoteOpened(file);
  } else if (LastsUntilChange(file, opened)) {
    attributes.lifetime = Lifetime::kUntilChange;
  }
  return {};
}

Status InodeFiles::VerifyEmpty(Inode file, const ReadContext& context) {
  FileHandle handle(files_, file, CTXFS_TRY(files_.Open(file, context)));
  return handle.Verify(*handle.file(), context);
}

Status InodeFiles::CheckNamed(Inode file, Attributes& attributes,
                              const ReadContext& context) {
  if (attributes.lifetime == Lifetime::kNone) EndText(file);
  return Check(file, attributes, context);
}

}  // namespace ctxfs
