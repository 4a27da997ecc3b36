// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/opening_reads.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/heap/heap_allowance.h"

namespace ctxfs {
namespace {

using ReadRange = std::pair<const uint64_t, std::string>;

uint64_t EndOf(const ReadRange& range) {
  return range.first + range.second.size();
}

/// Appends the part of `bytes` that is past the end of a range. `offset` is
/// where `bytes` start, and must not be past that end.
void Extend(ReadRange& range, uint64_t offset, Bytes bytes) {
  const uint64_t known = EndOf(range) - offset;
  if (known >= bytes.size()) return;
  range.second += AsText(bytes.subspan(static_cast<size_t>(known)));
}

}  // namespace

void OpeningReads::Record() {
  const MutexLock lock(mutex_);
  recording_ = true;
  in_use_ = true;
}

bool OpeningReads::Find(uint64_t offset, MutableBytes out) const {
  if (!in_use_) return false;
  const MutexLock lock(mutex_);
  if (recording_) return false;
  const auto after = ranges_.upper_bound(offset);
  if (after == ranges_.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  if (!InBounds(offset - start, out.size(), bytes.size())) return false;
  std::ranges::copy(
      AsBytes(bytes).subspan(static_cast<size_t>(offset - start), out.size()),
      out.begin());
  return true;
}

void OpeningReads::Add(uint64_t offset, Bytes bytes) {
  if (!in_use_) return;
  const MutexLock lock(mutex_);
  if (!recording_ || too_many_) return;
  bytes_ += bytes.size();
  if (bytes_ > kMax || !HeapAllowance::Admit(bytes.size())) {
    too_many_ = true;
    ranges_.clear();
    return;
  }
  AddLocked(offset, bytes);
}

void OpeningReads::AddLocked(uint64_t offset, Bytes bytes) {
  auto next = ranges_.upper_bound(offset);
  auto range = next;
  if (next == ranges_.begin() || EndOf(*std::prev(next)) < offset) {
    range = ranges_.emplace_hint(next, offset, std::string());
  } else {
    range = std::prev(next);
  }
  Extend(*range, offset, bytes);
  while (next != ranges_.end() && next->first <= EndOf(*range)) {
    Extend(*range, next->first, AsBytes(next->second));
    next = ranges_.erase(next);
  }
}

bool OpeningReads::SaveAndClear(std::string& saved) {
  const MutexLock lock(mutex_);
  bool whole = std::exchange(recording_, false);
  AppendLe(uint64_t{ranges_.size()}, saved);
  for (const auto& [offset, bytes] : ranges_) {
    AppendLe(offset, saved);
    AppendLe(uint64_t{bytes.size()}, saved);
    whole = whole && AppendAdmitted(saved, bytes);
  }
  ranges_.clear();
  in_use_ = false;
  return whole;
}

Status OpeningReads::Load(ByteReader& saved, uint64_t size) {
  const MutexLock lock(mutex_);
  const uint64_t count = saved.U64();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = saved.offset();
    const uint64_t offset = saved.U64();
    const Bytes bytes = saved.Take(saved.U64());
    if (!saved.ok() || !InBounds(offset, bytes.size(), size)) {
      return Error{Code::kCorrupt, "not what opening a container has read", at};
    }
    CTXFS_TRY(HeapAllowance::Admit(bytes.size()));
    ranges_[offset] = AsText(bytes);
  }
  in_use_ = !ranges_.empty();
  return {};
}

}  // namespace ctxfs
