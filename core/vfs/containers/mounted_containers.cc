// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/containers/mounted_containers.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/heap/heap_meter.h"
#include "core/container/unreadable.h"

namespace ctxfs {
namespace {

Error Disappeared() { return {Code::kStale, "the container has disappeared"}; }

}  // namespace

MountedContainers::MountedContainers(const MountRules& rules,
                                     const Budget& budget, Open open,
                                     Extras extras)
    : rules_(rules),
      budget_(budget),
      open_(std::move(open)),
      extras_(std::move(extras)) {}

void MountedContainers::AttachTop(
    Inode at, Inode base, const std::shared_ptr<const Container>& container,
    ContainerTree::Tables own) {
  auto slot = std::make_shared<Slot>(Slot{.attachment = {.at = at},
                                          .number = kTop,
                                          .base = base,
                                          .own = std::move(own)});
  const HeapMeter meter;
  const HeapAllowance allowance(
      budget_.bytes - std::min(budget_.top, budget_.bytes),
      {Code::kLimit, "index="});
  const AllowedWork work(NeverInterrupted());
  Result<NewTree> made = MakeTree(*slot, nullptr, container, work);
  if (Status fits = HeapAllowance::Check(); !fits) {
    top_status_ = fits;
    const UnmeteredHeap stands_in;
    made = MakeTree(*slot, nullptr,
                    UnreadableContainer(container->source(), fits.error()),
                    NeverInterrupted());
  }
  (*made)->bytes = budget_.top + meter.bytes();
  slot->tree = *std::move(made);
  Trees none;
  const MutexLock lock(mutex_);
  (void)Accept(*slot, *slot->tree, /*lose=*/false, none);  // cannot fail
  bytes_ += slot->tree->bytes;
  slots_.emplace(kTop, std::move(slot));
}

MountedContainers::Number MountedContainers::Attach(
    const Attachment& attachment) {
  constexpr Number kMask = 0x7FFFFFFF;
  Trees closed;  // freed unlocked
  const MutexLock lock(mutex_);
  const auto known = by_place_.find(attachment.at);
  if (known != by_place_.end()) return known->second;
  auto number =
      static_cast<Number>(XXH3_64bits(&attachment.at, sizeof(attachment.at))) &
      kMask;
  while (number == kTop || slots_.contains(number)) {
    number = (number + 1) & kMask;
  }
  auto slot = std::make_shared<Slot>(Slot{.attachment = attachment,
                                          .number = number,
                                          .base = Inode{number} << kNodeBits});
  if (attachment.kind != Kind::kStored) {
    if (const auto outer = slots_.find(attachment.within);
        outer != slots_.end()) {
      slot->outer = outer->second;
      slot->outer->attached.insert(number);
    }
  }
  const bool numbered =
      slot->outer != nullptr && slot->outer->attachment.kind == Kind::kNumbered;
  // Inserts the slot first: even if memory runs out, a place must not have a
  // number without a slot.
  slots_.emplace(number, std::move(slot));
  by_place_.emplace(attachment.at, number);
  if (numbered) AddNumbered(number, closed);
  return number;
}

std::shared_ptr<MountedContainers::Slot> MountedContainers::Find(
    Number number) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : found->second;
}

std::optional<MountedContainers::Number> MountedContainers::NumberAt(
    Inode at) const {
  const MutexLock lock(mutex_);
  const auto found = by_place_.find(at);
  if (found == by_place_.end()) return std::nullopt;
  return found->second;
}

std::optional<MountedContainers::Attachment> MountedContainers::AttachmentOf(
    Number number) const {
  const std::shared_ptr<Slot> slot = Find(number);
  if (slot == nullptr) return std::nullopt;
  return slot->attachment;
}

std::vector<MountedContainers::Number> MountedContainers::Chain(
    Number number) const {
  std::vector<Number> inner_first;
  for (std::shared_ptr<Slot> slot = Find(number); slot != nullptr;
       slot = slot->outer) {
    inner_first.push_back(slot->number);
  }
  return {inner_first.rbegin(), inner_first.rend()};
}

MountedContainers::Tree MountedContainers::Opened(Number number) const {
  const MutexLock lock(mutex_);
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : Lend(*found->second);
}

Result<MountedContainers::Tree> MountedContainers::Get(
    Number number, const ReadContext& context) {
  const std::shared_ptr<Slot> slot = Find(number);
  if (slot == nullptr) return Disappeared();
  if (Tree tree = Use(*slot)) return tree;
  const Tree outer = CTXFS_TRY(OuterOf(*slot, context));
  if (slot->attachment.kind != Kind::kNumbered) {
    return OpenOnce(slot, outer, context);
  }
  const NewTree tree = TreeAt(*slot, outer);
  tree->container_tree = outer->container_tree;
  CTXFS_TRY(tree->ShowNumbered(slot->attachment.node, context));
  return Tree(tree);
}

MountedContainers::Tree MountedContainers::Use(Slot& slot) {
  const MutexLock lock(mutex_);
  if (slot.tree != nullptr) MarkUsed(&slot);
  return Lend(slot);
}

MountedContainers::Tree MountedContainers::Lend(Slot& slot) const {
  if (slot.tree == nullptr) return nullptr;
  if (Tree lent = slot.lent.lock()) return lent;
  Tree lent(slot.tree.get(),
            [owner = slot.tree, room = room_](const ContainerSource*) {
              room->NotifyAll();
            });
  slot.lent = lent;
  return lent;
}

void MountedContainers::MarkUsed(Slot* slot) {
  // Using a nested container also uses the containers around it.
  for (; slot != nullptr && slot->number != kTop; slot = slot->outer.get()) {
    if (slot->tree != nullptr) used_.splice(used_.begin(), used_, slot->used);
  }
}

Result<MountedContainers::Tree> MountedContainers::OuterOf(
    const Slot& slot, const ReadContext& context) {
  if (slot.attachment.kind == Kind::kStored) return Tree();
  return Get(slot.attachment.within, context);
}

MountedContainers::NewTree MountedContainers::TreeAt(const Slot& slot,
                                                     Tree outer) const {
  auto tree = std::make_shared<ContainerSource>(rules_);
  tree->at = slot.attachment.at;
  tree->base = slot.base;
  tree->number = slot.number;
  tree->pages = slot.pages;
  if (outer != nullptr) {
    const auto child = outer->files->NestedAt(slot.attachment.node);
    tree->depth = outer->depth + 1;
    tree->mtime = outer->mtime;
    tree->readers = outer->readers;
    tree->is_view = outer->is_view || (child && child->role == Role::kViews);
  }
  tree->outer = std::move(outer);
  return tree;
}

Result<MountedContainers::Tree> MountedContainers::OpenOnce(
    const std::shared_ptr<Slot>& slot, const Tree& outer,
    const ReadContext& context) {
  Tree tree;
  const auto is_open = [&] {
    tree = Use(*slot);
    return tree != nullptr;
  };
  const auto keep = [&](Tree opened) -> Status {
    tree = CTXFS_TRY(Keep(slot, std::move(opened)));
    return {};
  };
  const auto open = [&](const ReadContext& shared) {
    return OpenSlot(*slot, outer, nullptr, nullptr, keep, shared);
  };
  CTXFS_TRY(
      context.cache().Once({scope_, slot->number}, context, is_open, open));
  KeepBudget();
  return tree;
}

Status MountedContainers::OpenSlot(const Slot& slot, const Tree& outer,
                                   const Tree& old, const Reopen& reopen,
                                   const Admission::Keep& keep,
                                   const ReadContext& context) {
  Reopen open = reopen;
  if (open == nullptr) {
    open = [&](const ReadContext& request) {
      return open_(slot.attachment, outer.get(), request);
    };
  }
  const auto open_within = [&](const HeapAllowance& allowance) {
    return OpenWithin(slot, outer, open, allowance, context);
  };
  return admission_.Run(old, Before(slot), open_within, keep, context);
}

Result<MountedContainers::Tree> MountedContainers::OpenWithin(
    const Slot& slot, const Tree& outer, const Reopen& open,
    const HeapAllowance& allowance, const ReadContext& context) {
  const HeapMeter meter;
  const AllowedWork work(context.interrupt());
  const ReadContext bounded = context.With(work);
  ContainerResult container = OpenContainer(open, bounded);
  if (!container && !allowance.exceeded()) return std::move(container).error();
  if (!container) return HeapAllowance::Check().error();
  Result<NewTree> made = NewTree();
  if (!allowance.exceeded()) {
    made = MakeTree(slot, outer, *container, work);
  }
  std::optional<UnmeteredHeap> stands_in;
  if (const Status refused = HeapAllowance::Check(); !refused) {
    if (!refused.error().Permanent()) return refused.error();
    // An unreadable container replaces the refused one. It is small, so its
    // heap is not metered.
    made = NewTree();
    container = UnreadableContainer((*container)->source(), refused.error());
    stands_in.emplace();
    made = MakeTree(slot, outer, *container, context.interrupt());
  }
  if (!made) return std::move(made).error();
  const NewTree tree = *std::move(made);
  tree->refused = stands_in.has_value();
  tree->bytes = tree->refused ? 0 : meter.bytes();
  // An interrupted opening can miss entries that it could not read.
  CTXFS_TRY(context.Check());
  // A nested container can also miss entries if the outer one has changed. Then
  // this fails, and the outer one is renewed first. A stored container that has
  // changed is renewed after opening.
  if (outer != nullptr) {
    CTXFS_TRY(tree->CheckUnchanged());
  }
  return Tree(tree);
}

MountedContainers::ContainerResult MountedContainers::OpenContainer(
    const Reopen& open, const ReadContext& context) {
  while (true) {
    ContainerResult opened = open(context);
    const UnmeteredHeap closing;
    // Closes an unused container and tries again, because unused containers may
    // hold the descriptors that are needed.
    if (opened || opened.error().code != Code::kTooManyFiles ||
        !CloseOldest()) {
      return opened;
    }
  }
}

Result<MountedContainers::NewTree> MountedContainers::MakeTree(
    const Slot& slot, const Tree& outer,
    const std::shared_ptr<const Container>& container,
    const Interrupt& interrupt) {
  NewTree tree = TreeAt(slot, outer);
  // A container in memory has the owner and times of the outer one.
  const Source& source = *container->source();
  if (source.mtime() != FileTime()) tree->mtime = source.mtime();
  if (auto readers = source.read_access()) tree->readers = readers;
  std::vector<ChildContainer> extras;
  if (extras_ != nullptr) extras = extras_(container);
  tree->container_tree = std::make_shared<const ContainerTree>(
      container, slot.own, std::move(extras), TreeLimits(), interrupt);
  tree->files = tree->container_tree.get();
  const Status& built = tree->container_tree->status();
  if (!built && !built.error().Permanent()) return built.error();
  return tree;
}

Result<MountedContainers::Tree> MountedContainers::Keep(
    const std::shared_ptr<Slot>& slot, Tree tree) {
  Trees closed;  // freed unlocked: that may take long
  const MutexLock lock(mutex_);
  const auto found = slots_.find(slot->number);
  if (found == slots_.end() || found->second != slot) return tree;
  // A thread with another cache may have opened it meanwhile.
  if (slot->tree != nullptr) return Lend(*slot);
  CTXFS_TRY(Accept(*slot, *tree, /*lose=*/true, closed));
  used_.push_front(slot.get());  // may throw, so comes first
  slot->used = used_.begin();
  slot->tree = std::move(tree);
  bytes_ += slot->tree->bytes;
  MarkUsed(slot.get());
  return Lend(*slot);
}

bool MountedContainers::IsAnother(const Slot& slot, const Opening& now) {
  if (!slot.opened_as) return false;
  const Opening& before = *slot.opened_as;
  // A refused opening read only a part of the file, so its digest proves
  // nothing.
  if (before.refused || now.refused) return before.refused != now.refused;
  // A file that a container names may become readable without a change of the
  // directory that is the container.
  const bool comparable = slot.attachment.kind == Kind::kStored
                              ? now.digest || before.digest
                              : now.digest && before.digest;
  return comparable &&
         (now.digest != before.digest || now.nodes != before.nodes);
}

Admission::Before MountedContainers::Before(const Slot& slot) const {
  const MutexLock lock(mutex_);
  if (!slot.opened_as) return Admission::Before::kNeither;
  return slot.opened_as->refused ? Admission::Before::kRefused
                                 : Admission::Before::kOpen;
}

Status MountedContainers::Accept(Slot& slot, const ContainerSource& tree,
                                 bool lose, Trees& closed) {
  const Source& source = *tree.container_tree->container().source();
  const Opening now{source.opening_digest(), tree.container_tree->NodeCount(),
                    source.identity().ctime, tree.refused};
  const bool another = slot.lost || IsAnother(slot, now);
  slot.lost = slot.lost || (another && lose);
  if (another) {
    return Error{Code::kStale, "the container was replaced by another"};
  }
  if (slot.opened_as && now.ctime != slot.opened_as->ctime) {
    slot.pages->Renew();
    RenewInside(slot, closed);
  }
  slot.opened_as = now;
  return {};
}

Status MountedContainers::Renew(Number number, const Tree& old,
                                const Reopen& reopen, bool lose,
                                const ReadContext& context) {
  const std::shared_ptr<Slot> slot = Find(number);
  if (slot == nullptr) return Disappeared();
  const auto is_renewed = [&] { return Opened(number) != old; };
  const auto keep = [&](Tree opened) -> Status {
    Trees closed;
    const MutexLock lock(mutex_);
    if (slot->tree != old) return {};
    CTXFS_TRY(Accept(*slot, *opened, lose, closed));
    // Even if ctime is unchanged, cached pages may be wrong: a file that the
    // container names may have changed.
    slot->pages->Renew();
    RenewInside(*slot, closed);
    closed.emplace_back();  // may throw, so comes first
    bytes_ += opened->bytes - old->bytes;
    slot->lent.reset();
    closed.back() = std::exchange(slot->tree, std::move(opened));
    room_->NotifyAll();
    return {};
  };
  const auto renew = [&](const ReadContext& shared) -> Status {
    const Tree outer = CTXFS_TRY(OuterOf(*slot, shared));
    return OpenSlot(*slot, outer, old, reopen, keep, shared);
  };
  return context.cache().Once({scope_, number}, context, is_renewed, renew);
}

MountedContainers::Totals MountedContainers::Sum() const {
  const MutexLock lock(mutex_);
  Totals sum;
  sum.memory = bytes_;
  const auto add = [&sum](const ContainerSource& tree) {
    if (tree.IsContainer()) ++sum.containers;
    if (tree.is_view) return;
    sum.files += tree.container_tree->PrimaryFiles();
    sum.bytes = CheckedAdd(sum.bytes, tree.container_tree->TotalSize())
                    .value_or(UINT64_MAX);
  };
  if (const auto top = slots_.find(kTop); top != slots_.end()) {
    add(*top->second->tree);
  }
  for (const Slot* slot : used_) add(*slot->tree);
  return sum;
}

}  // namespace ctxfs
