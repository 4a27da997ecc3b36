// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/grafts.h"

#include <xxhash.h>

#include <utility>

#include "core/io/descriptors.h"

namespace ctxfs {

void PageLedger::Renew() {
  ++renewals_;
  opened_.clear();
}

PageLedger::Verdict PageLedger::Of(NodeId file) const {
  return {renewals_ == 0 || opened_.contains(file), renewals_};
}

void PageLedger::NoteOpened(NodeId file, const Verdict& verdict) {
  // Pages of files that are forgotten here are dropped once more than need be.
  constexpr size_t kMostOpened = 1'000'000;
  if (renewals_ == 0 || verdict.renewals != renewals_) return;
  if (opened_.size() >= kMostOpened) opened_.clear();
  opened_.insert(file);
}

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
    Result<std::shared_ptr<const Branch>> opened =
        Open(slot->graft.open, shared);
    if (!opened) return std::move(opened).error();
    if (Status kept = Keep(number, *slot, *opened); !kept) return kept;
    branch = std::move(*opened);
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
    const Opener& opener, const ReadContext& context) const {
  Result<std::shared_ptr<const Container>> container = OpenOne(opener, context);
  if (!container) return std::move(container).error();
  std::vector<SubContainer> hanging;
  if (hang_ != nullptr) hanging = hang_(*container);
  auto branch = std::make_shared<const Branch>(
      std::move(*container), std::vector<OwnFile>{}, std::move(hanging),
      TreeLimits(), context.interrupt());
  const Status& built = branch->status();
  if (!built && !built.error().Permanent()) return built.error();
  // An interrupted container can lack what it could not read.
  if (Status wanted = context.Check(); !wanted) {
    return std::move(wanted).error();
  }
  return std::shared_ptr<const Branch>(std::move(branch));
}

Result<std::shared_ptr<const Container>> Grafts::OpenOne(
    const Opener& opener, const ReadContext& context) const {
  Result<std::shared_ptr<const Container>> opened = opener(context);
  // Others that nobody uses may hold the descriptors that it needs.
  while (!opened && opened.error().code == Code::kTooManyFiles &&
         CloseOldest()) {
    opened = opener(context);
  }
  return opened;
}

bool Grafts::CloseOldest() const {
  Branches closed;  // freed after the lock is released: that may take long
  const MutexLock lock(mutex_);
  for (auto it = used_.rbegin(); it != used_.rend(); ++it) {
    Slot& slot = *slots_.at(*it);
    if (slot.branch.use_count() > 1) continue;
    Close(slot, closed);
    return true;
  }
  return false;
}

std::shared_ptr<const Branch> Grafts::Use(Slot& slot) const {
  const MutexLock lock(mutex_);
  if (slot.branch != nullptr) used_.splice(used_.begin(), used_, slot.used);
  return slot.branch;
}

void Grafts::Close(Slot& slot, Branches& closed) const {
  if (slot.branch == nullptr) return;
  closed.push_back(std::exchange(slot.branch, nullptr));
  used_.erase(slot.used);
}

void Grafts::RenewInside(const Slot& slot, Branches& closed) const {
  for (const Number number : slot.inside) {
    Slot& inner = *slots_.at(number);
    Close(inner, closed);
    inner.pages.Renew();
    RenewInside(inner, closed);
  }
}

bool Grafts::IsAnother(const Slot& slot, const Opening& now) {
  if (!slot.opened_as) return false;
  const Opening& before = *slot.opened_as;
  // A file that a container names may have been missing or unreadable, and then
  // become readable, without a change of the directory that it appears as.
  const bool comparable = slot.graft.depth == 0 ? now.digest || before.digest
                                                : now.digest && before.digest;
  return comparable &&
         (now.digest != before.digest || now.nodes != before.nodes);
}

Status Grafts::Accept(Slot& slot, const Branch& branch, bool lose,
                      Branches& closed) const {
  const Source& source = *branch.container().source();
  const Opening now{source.opening_digest(), branch.NodeCount(),
                    source.identity().ctime_ns};
  const bool another = slot.lost || IsAnother(slot, now);
  slot.lost = slot.lost || (another && lose);
  if (another) {
    return Error{Code::kStale, "the container was replaced by another"};
  }
  if (slot.opened_as && now.ctime_ns != slot.opened_as->ctime_ns) {
    slot.pages.Renew();
    RenewInside(slot, closed);
  }
  slot.opened_as = now;
  return {};
}

Status Grafts::Renew(Number number, const std::shared_ptr<const Branch>& old,
                     const Opener& reopen, bool lose,
                     const ReadContext& context) const {
  const std::shared_ptr<Slot> slot = SlotOf(number);
  if (slot == nullptr) {
    return Error{Code::kStale, "the container is there no more"};
  }
  const auto is_renewed = [&] { return Opened(number) != old; };
  const auto renew = [&](const ReadContext& shared) -> Status {
    Result<std::shared_ptr<const Branch>> opened = Open(reopen, shared);
    if (!opened) return std::move(opened).error();
    Branches closed;
    const MutexLock lock(mutex_);
    if (slot->branch != old) return {};
    Status accepted = Accept(*slot, **opened, lose, closed);
    if (!accepted) return accepted;
    // ctime is the same if a file that the container names has changed.
    slot->pages.Renew();
    RenewInside(*slot, closed);
    closed.push_back(std::exchange(slot->branch, std::move(*opened)));
    return {};
  };
  return context.cache().Once({slot->opening, 0}, context, is_renewed, renew);
}

void Grafts::Lose(Number number) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  if (found != slots_.end()) found->second->lost = true;
}

bool Grafts::IsLost(Number number) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  return found != slots_.end() && found->second->lost;
}

void Grafts::RenewAll() const {
  Branches closed;
  const MutexLock lock(mutex_);
  for (const auto& [number, slot] : slots_) {
    Close(*slot, closed);
    slot->pages.Renew();
  }
}

std::shared_ptr<const Branch> Grafts::Opened(Number number) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : found->second->branch;
}

std::optional<Grafts::Number> Grafts::At(Inode at) const {
  const MutexLock lock(mutex_);
  const auto found = by_place_.find(at);
  if (found == by_place_.end()) return std::nullopt;
  return found->second;
}

PageLedger::Verdict Grafts::PagesOf(Number number, NodeId file) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  if (found == slots_.end()) return {};
  return found->second->pages.Of(file);
}

void Grafts::NoteOpened(Number number, NodeId file,
                        const PageLedger::Verdict& verdict) {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  if (found == slots_.end()) return;
  found->second->pages.NoteOpened(file, verdict);
}

Status Grafts::Keep(Number number, Slot& slot,
                    const std::shared_ptr<const Branch>& branch) const {
  Branches closed;  // freed after the lock is released: that may take long
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  if (found == slots_.end() || found->second.get() != &slot) return {};
  // A thread that uses another cache may have opened it in the meantime.
  if (slot.branch != nullptr) return {};
  if (Status accepted = Accept(slot, *branch, /*lose=*/true, closed);
      !accepted) {
    return accepted;
  }
  used_.push_front(number);
  slot.used = used_.begin();
  slot.branch = branch;
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
  return {};
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
