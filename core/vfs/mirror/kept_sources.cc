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
    const Kept* const kept = kept_.Peek(inode);
    if (kept == nullptr) return nullptr;
    if (Clock::now() - kept->found < lasting_) {
      source = kept_.Use(inode)->source;
    }
  }
  if (source != nullptr && source->CheckUnchanged()) return source;
  if (!changed_too_) Drop(inode);
  return nullptr;
}

void KeptSources::Keep(Inode inode, SourcePtr source) {
  if (lasting_ <= std::chrono::seconds(1) && !changed_too_) return;
  LruMap<Inode, Kept>::Removed replaced;  // closed without the lock
  LruMap<Inode, Kept>::Removed oldest;
  const MutexLock lock(mutex_);
  // Leaves descriptors for containers and for files that programs have open.
  if (!Descriptors::HaveRoom(2 * limits::kOpenContainers + kept_.size())) {
    return;
  }
  replaced = kept_.Put(inode, {std::move(source), Clock::now()});
  if (kept_.size() > kMaxKept) oldest = kept_.RemoveOldest();
}

void KeptSources::Drop(Inode inode) {
  LruMap<Inode, Kept>::Removed closed;
  const MutexLock lock(mutex_);
  closed = kept_.Remove(inode);
}

bool KeptSources::DropAll() {
  LruMap<Inode, Kept>::Removed closed;
  const MutexLock lock(mutex_);
  closed = kept_.RemoveAll();
  return !closed.empty();
}

}  // namespace ctxfs
