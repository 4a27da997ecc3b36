// SPDX-License-Identifier: Apache-2.0
//
// MountedContainers: closing containers that nobody uses, and detaching them.
#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "core/io/descriptors.h"
#include "core/vfs/containers/mounted_containers.h"

namespace ctxfs {

void MountedContainers::Lose(Number number) {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  if (found != slots_.end()) found->second->lost = true;
}

bool MountedContainers::IsLost(Number number) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  return found != slots_.end() && found->second->lost;
}

void MountedContainers::KeepBudget() {
  while (true) {
    // Trees are freed without the lock, because that may take long, and one at
    // a time, because a container is in use while a container nested in it is
    // open.
    Trees closed;
    const MutexLock lock(mutex_);
    const bool kept = used_.size() <= budget_.containers &&
                      bytes_ <= budget_.bytes && Descriptors::HaveRoom(0);
    if (kept || !CloseOne(closed)) return;
  }
}

std::optional<uint64_t> MountedContainers::CloseOldest() {
  Trees closed;  // freed unlocked
  const MutexLock lock(mutex_);
  if (!CloseOne(closed)) return std::nullopt;
  return closed.back()->bytes;
}

uint64_t MountedContainers::BytesBut(const Tree& old) const {
  const MutexLock lock(mutex_);
  if (old == nullptr) return bytes_;
  // `old` may be an outer container that was renewed meanwhile, and is not
  // counted any more.
  const auto slot = slots_.find(old->number);
  const bool open = slot != slots_.end() && slot->second->tree == old;
  return bytes_ - (open ? old->bytes : 0);
}

uint64_t MountedContainers::BytesBesidesTop() const {
  const MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const Slot* slot : used_) bytes += slot->tree->bytes;
  return bytes;
}

bool MountedContainers::CloseOne(Trees& closed) {
  const auto oldest =
      std::find_if(used_.rbegin(), used_.rend(),
                   [](const Slot* slot) { return slot->lent.expired(); });
  if (oldest == used_.rend()) return false;
  Close(**oldest, closed);
  return true;
}

void MountedContainers::Close(Slot& slot, Trees& closed) {
  if (slot.tree == nullptr) return;
  CTXFS_ASSERT(slot.tree->bytes <= bytes_);
  CTXFS_ASSERT(*slot.used == &slot);
  bytes_ -= slot.tree->bytes;
  used_.erase(slot.used);
  slot.lent.reset();
  closed.push_back(std::exchange(slot.tree, nullptr));
  room_->NotifyAll();
}

void MountedContainers::RenewInside(const Slot& slot, Trees& closed) {
  for (const Number number : slot.attached) {
    Slot& inner = *slots_.at(number);
    Close(inner, closed);
    inner.pages->Renew();
    RenewInside(inner, closed);
  }
}

void MountedContainers::Detach(Inode at) {
  Trees closed;
  const MutexLock lock(mutex_);
  const auto found = by_place_.find(at);
  if (found != by_place_.end()) DetachOne(found->second, closed);
}

void MountedContainers::DetachOne(Number number, Trees& closed) {
  const auto found = slots_.find(number);
  CTXFS_ASSERT(found != slots_.end());
  const std::shared_ptr<Slot> slot = found->second;
  slots_.erase(found);
  by_place_.erase(slot->attachment.at);
  Close(*slot, closed);
  for (const Number attached : slot->attached) DetachOne(attached, closed);
}

void MountedContainers::AddNumbered(Number number, Trees& closed) {
  numbered_.push_back(number);
  if (numbered_.size() <= kMaxNumbered) return;
  const Number oldest = numbered_.front();
  numbered_.pop_front();
  const auto found = slots_.find(oldest);
  if (found == slots_.end() || oldest == number) return;
  // The number may have been given to another place meanwhile.
  const std::shared_ptr<Slot> outer = found->second->outer;
  if (outer == nullptr || outer->attachment.kind != Kind::kNumbered) return;
  outer->attached.erase(oldest);
  DetachOne(oldest, closed);
}

}  // namespace ctxfs
