// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/kept_sources.h"

#include <utility>

#include "core/base/limits.h"
#include "core/io/descriptors.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxKept = 4096;

}  // namespace

SourcePtr KeptSources::Get(Inode inode) {
  if (lasting_ <= std::chrono::seconds(1)) return nullptr;
  SourcePtr source;
  {
    const MutexLock lock(mutex_);
    const auto found = by_inode_.find(inode);
    if (found == by_inode_.end()) return nullptr;
    if (Clock::now() - found->second->found < lasting_) {
      kept_.splice(kept_.begin(), kept_, found->second);
      source = found->second->source;
    }
  }
  if (source != nullptr && source->CheckUnchanged()) return source;
  if (!changed_too_) Drop(inode);
  return nullptr;
}

void KeptSources::Keep(Inode inode, SourcePtr source) {
  if (lasting_ <= std::chrono::seconds(1) && !changed_too_) return;
  std::list<Kept> closed;  // freed unlocked
  std::list<Kept> one;
  one.push_back({inode, std::move(source), Clock::now()});
  const MutexLock lock(mutex_);
  // Leaves descriptors for containers and for files that programs have open.
  if (!Descriptors::HaveRoom(2 * limits::kOpenContainers + kept_.size())) {
    return;
  }
  const auto [at, added] = by_inode_.try_emplace(inode, one.begin());
  if (!added) {
    closed.splice(closed.end(), kept_, at->second);
    at->second = one.begin();
  }
  kept_.splice(kept_.begin(), one);
  if (kept_.size() <= kMaxKept) return;
  by_inode_.erase(kept_.back().inode);
  closed.splice(closed.end(), kept_, std::prev(kept_.end()));
}

void KeptSources::Drop(Inode inode) {
  std::list<Kept> closed;
  const MutexLock lock(mutex_);
  const auto found = by_inode_.find(inode);
  if (found == by_inode_.end()) return;
  closed.splice(closed.end(), kept_, found->second);
  by_inode_.erase(found);
}

bool KeptSources::DropAll() {
  std::list<Kept> closed;
  const MutexLock lock(mutex_);
  closed.swap(kept_);
  by_inode_.clear();
  return !closed.empty();
}

}  // namespace ctxfs
