// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/grafts.h"

#include <xxhash.h>

#include <utility>

#include "core/io/descriptors.h"

namespace ctxfs {

Grafts::Number Grafts::Add(Graft graft) {
  constexpr Number kMask = 0x7FFFFFFF;
  const MutexLock lock(mutex_);
  const auto known = by_place_.find(graft.at);
  if (known != by_place_.end()) return known->second;
  auto number =
      static_cast<Number>(XXH3_64bits(&graft.at, sizeof(graft.at))) & kMask;
  while (number == 0 || slots_.contains(number)) number = (number + 1) & kMask;
  if (const auto outer = slots_.find(graft.within); outer != slots_.end()) {
    outer->second->inside.push_back(number);
  }
  by_place_.emplace(graft.at, number);
  slots_.emplace(number, std::make_shared<Slot>(std::move(graft)));
  return number;
}

std::optional<Grafts::Graft> Grafts::Find(Number number) const {
  const std::shared_ptr<Slot> slot = SlotOf(number);
  if (slot == nullptr) return std::nullopt;
  return slot->graft;
}

std::shared_ptr<Grafts::Slot> Grafts::SlotOf(Number number) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<const Branch>> Grafts::Get(
    Number number, const ReadContext& context) const {
  const std::shared_ptr<Slot> slot = SlotOf(number);
  if (slot == nullptr) {
    return Error{Code::kStale, "the container is there no more"};
  }
  std::shared_ptr<const Branch> branch = Use(*slot);
  if (branch != nullptr) return branch;
  if (slot->graft.open == nullptr) return Get(slot->graft.within, context);
  const auto is_open = [&] {
    branch = Use(*slot);
    return branch != nullptr;
  };
  const auto open = [&](const ReadContext& shared) -> Status {
    Result<std::shared_ptr<const Branch>> opened = Open(*slot, shared);
    if (!opened) return std::move(opened).error();
    branch = std::move(*opened);
    Keep(number, *slot, branch);
    // This one is in use and stays.
    while (!Descriptors::HaveRoom(0) && CloseOldest()) {
    }
    return {};
  };
  Status opened =
      context.cache().Once({slot->opening, 0}, context, is_open, open);
  if (!opened) return std::move(opened).error();
  return branch;
}

Result<std::shared_ptr<const Branch>> Grafts::Open(
    const Slot& slot, const ReadContext& context) const {
  Result<std::shared_ptr<const Container>> container = OpenOne(slot, context);
  if (!container) return std::move(container).error();
  std::vector<SubContainer> hanging;
  if (hang_ != nullptr) hanging = hang_(*container);
  auto branch = std::make_shared<const Branch>(
      std::move(*container), std::vector<OwnFile>{}, std::move(hanging),
      TreeLimits(), context.interrupt());
  const Status& built = branch->status();
  if (!built && !built.error().Permanent()) return built.error();
  return std::shared_ptr<const Branch>(std::move(branch));
}

Result<std::shared_ptr<const Container>> Grafts::OpenOne(
    const Slot& slot, const ReadContext& context) const {
  Result<std::shared_ptr<const Container>> opened = slot.graft.open(context);
  // Others that nobody uses may hold the descriptors that it needs.
  while (!opened && opened.error().code == Code::kTooManyFiles &&
         CloseOldest()) {
    opened = slot.graft.open(context);
  }
  return opened;
}

bool Grafts::CloseOldest() const {
  std::shared_ptr<const Branch> closed;  // freed after the lock is released
  const MutexLock lock(mutex_);
  for (auto it = used_.rbegin(); it != used_.rend(); ++it) {
    std::shared_ptr<const Branch>& branch = slots_.at(*it)->branch;
    if (branch.use_count() > 1) continue;
    closed = std::exchange(branch, nullptr);
    used_.erase(std::next(it).base());
    return true;
  }
  return false;
}

std::shared_ptr<const Branch> Grafts::Use(Slot& slot) const {
  const MutexLock lock(mutex_);
  if (slot.branch != nullptr) used_.splice(used_.begin(), used_, slot.used);
  return slot.branch;
}

void Grafts::Keep(Number number, Slot& slot,
                  std::shared_ptr<const Branch> branch) const {
  // Closed after the lock is let go of: it may mean freeing much.
  std::vector<std::shared_ptr<const Branch>> closed;
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  if (found == slots_.end() || found->second.get() != &slot) return;  // dropped
  // A thread that uses another cache may have opened it in the meantime.
  if (slot.branch != nullptr) return;
  used_.push_front(number);
  slot.used = used_.begin();
  slot.branch = std::move(branch);
  for (auto it = std::prev(used_.end()); used_.size() > most_;) {
    Slot& oldest = *slots_.at(*it);
    const bool last = it == used_.begin();
    const auto next = last ? it : std::prev(it);
    if (oldest.branch.use_count() == 1) {
      closed.push_back(std::exchange(oldest.branch, nullptr));
      used_.erase(it);
    }
    if (last) break;
    it = next;
  }
}

void Grafts::Drop(Inode at) {
  std::vector<std::shared_ptr<const Branch>> closed;
  const MutexLock lock(mutex_);
  const auto found = by_place_.find(at);
  if (found != by_place_.end()) DropOne(found->second, closed);
}

void Grafts::DropOne(Number number,
                     std::vector<std::shared_ptr<const Branch>>& closed) {
  const auto found = slots_.find(number);
  const std::shared_ptr<Slot> slot = found->second;
  slots_.erase(found);
  by_place_.erase(slot->graft.at);
  if (slot->branch != nullptr) {
    closed.push_back(std::exchange(slot->branch, nullptr));
    used_.erase(slot->used);
  }
  for (const Number inside : slot->inside) DropOne(inside, closed);
}

Grafts::Totals Grafts::Sum() const {
  const MutexLock lock(mutex_);
  Totals sum;
  for (const Number number : used_) {
    const Branch& branch = *slots_.at(number)->branch;
    if (!branch.container().HasAbout()) {
      sum.hung += branch.NodeCount() - 1;  // its root is the directory it is at
      continue;
    }
    ++sum.containers;
    sum.nodes += branch.NodeCount();
    sum.bytes += branch.TotalSize();
  }
  return sum;
}

}  // namespace ctxfs
