// SPDX-License-Identifier: Apache-2.0
//
// When a container may be opened (docs/robustness.md, section 4). What all open
// containers take, and what those being opened may take, is at most the budget.
//
// An opening starts with a little memory, and most need no more. One that does
// is abandoned and waits for its turn. One at a time then starts again, and
// gets what it needs as long as closing unused containers makes room.
//
// An opening that waits for its turn holds no memory, and the one whose turn it
// is waits for no other: the same thread opens what belongs to it, such as the
// shards of a model. If containers in use leave it too little memory, it waits
// up to Budget::patience for them to be released, and then fails.
//
// One that needs more than the budget is refused: an unreadable container
// stands in for it. What it needs varies a little, and so does what others have
// left. As the files of both differ, it stays what it first was: one that was
// refused is refused again, and one that was open fails until there is room.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/base/assert.h"
#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/heap/heap_meter.h"
#include "core/base/interrupt.h"
#include "core/container/unreadable.h"
#include "core/vfs/containers/mounted_containers.h"

namespace ctxfs {
namespace {

// The cache key of the turn; no container has this number.
constexpr uint64_t kTurn = uint64_t{1} << 31;

// Fractions of the budget: 1/64 for a small opening, and 1/8 that is left to
// small ones while a large one has its turn.
constexpr uint64_t kSmallPart = 64;
constexpr uint64_t kSparePart = 8;
// Bytes of a closed container that are worth a malloc_trim.
constexpr uint64_t kWorthTrimming = uint64_t{4} << 20;

}  // namespace

/// Memory of the budget, reserved for one opening until it ends. The memory of
/// `old`, the tree that the opening replaces, is not counted while it is open.
class MountedContainers::Reservation {
 public:
  Reservation(MountedContainers& containers, const Slot& slot, const Tree& old)
      : containers_(containers), slot_(slot), old_(old) {}
  ~Reservation() {
    const MutexLock lock(containers_.mutex_);
    CTXFS_ASSERT(bytes_ <= containers_.reserved_);
    containers_.reserved_ -= bytes_;
    containers_.room_.NotifyAll();
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// Reserves `bytes` more, if `spare` bytes of the budget are left then.
  bool Take(uint64_t bytes, uint64_t spare) {
    const UnmeteredHeap closing;
    const uint64_t most = containers_.budget_.bytes - spare;
    bool freed = false;
    while (true) {
      Trees closed;  // freed after the lock is released
      // New memory may not fit into the gaps of the heap that closing left.
      if (freed && spare > 0) ::malloc_trim(0);
      const MutexLock lock(containers_.mutex_);
      const uint64_t taken =
          containers_.bytes_ - OldBytes() + containers_.reserved_;
      if (taken <= most && bytes <= most - taken) {
        containers_.reserved_ += bytes;
        bytes_ += bytes;
        if (spare > 0) containers_.short_since_.reset();
        return true;
      }
      if (!containers_.CloseOne(closed)) return false;
      freed = closed.back()->bytes >= kWorthTrimming;
    }
  }

  /// Waits for a moment for memory to be released. Returns false if
  /// interrupted, or if Budget::patience has passed without success.
  bool AwaitRoom(const Interrupt& interrupt) {
    constexpr std::chrono::milliseconds kMoment(20);
    const MutexLock lock(containers_.mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto since = containers_.short_since_.value_or(now);
    containers_.short_since_ = since;
    if (now - since >= containers_.budget_.patience) return false;
    if (interrupt.interrupted()) return false;
    containers_.room_.WaitFor(containers_.mutex_, kMoment);
    return true;
  }

  /// Whether all others but the top have so little that the budget is too small
  /// for this container, even if they were closed.
  bool HadNearlyAll() const {
    constexpr uint64_t kLittle = 4;  // a part of the budget
    const MutexLock lock(containers_.mutex_);
    uint64_t others = containers_.reserved_ - bytes_;
    for (const Slot* slot : containers_.used_) others += slot->tree->bytes;
    return others <= containers_.budget_.bytes / kLittle;
  }

 private:
  /// The part of bytes_ that is the old tree's. Nothing once that is closed: a
  /// container around it may be renewed while this opening waits for its turn.
  uint64_t OldBytes() const CTXFS_REQUIRES(containers_.mutex_) {
    return old_ != nullptr && slot_.tree == old_ ? old_->bytes : 0;
  }

  MountedContainers& containers_;
  const Slot& slot_;
  const Tree& old_;
  uint64_t bytes_ = 0;
};

/// The allowance of the opening whose turn it is.
class MountedContainers::LargeOpening final : public HeapAllowance {
 public:
  LargeOpening(Reservation& reservation, uint64_t budget,
               const std::optional<Opening>& before, const Interrupt& interrupt)
      : HeapAllowance(0, {Code::kLimit, "index="}),
        reservation_(reservation),
        interrupt_(interrupt),
        step_(budget / kSmallPart),
        spare_(budget / kSparePart),
        left_(before && before->refused ? step_ : budget),
        was_open_(before && !before->refused) {}

 private:
  uint64_t Grow(uint64_t bytes) override {
    do {
      for (const uint64_t more : {std::max(bytes, step_), bytes}) {
        if (more > left_ || !reservation_.Take(more, spare_)) continue;
        left_ -= more;
        return more;
      }
      final_ = !was_open_ && (bytes > left_ || reservation_.HadNearlyAll());
    } while (!final_ && reservation_.AwaitRoom(interrupt_));
    return 0;
  }
  // kNoMemory: there may be room once other containers are closed.
  Refusal refusal() const override {
    return {final_ ? Code::kLimit : Code::kNoMemory, "index="};
  }

  Reservation& reservation_;
  const Interrupt& interrupt_;
  const uint64_t step_;
  const uint64_t spare_;
  uint64_t left_;
  const bool was_open_;
  bool final_ = false;
};

Status MountedContainers::OpenSlot(const Slot& slot, const Tree& outer,
                                   const Tree& old, const Reopen& reopen,
                                   const KeepTree& keep,
                                   const ReadContext& context) {
  Reopen open = reopen;
  if (open == nullptr) {
    open = [&](const ReadContext& request) {
      return open_(slot.attachment, outer.get(), request);
    };
  }
  const std::optional<Opening> before = OpenedAs(slot);
  const bool refused = before && before->refused;
  const uint64_t little =
      std::min(limits::kSmallWorkBytes, budget_.bytes / kSmallPart);
  {
    Reservation reservation(*this, slot, old);
    if (reservation.Take(little, 0)) {
      HeapAllowance allowance(
          little, {refused ? Code::kLimit : Code::kInterrupted, "index="});
      Result<Tree> tree = OpenWithin(slot, outer, open, allowance, context);
      if (refused || !allowance.exceeded()) {
        return tree ? keep(*std::move(tree)) : std::move(tree).error();
      }
    }
  }
  const auto take_turn = [&](const ReadContext& /*shared*/) -> Status {
    FreeSpareMemory();
    // Not with `shared`: those who wait for the turn open other containers.
    Reservation reservation(*this, slot, old);
    LargeOpening allowance(reservation, budget_.bytes, before,
                           context.interrupt());
    Result<Tree> tree = OpenWithin(slot, outer, open, allowance, context);
    ::malloc_trim(0);  // what only parsing took, before the next turn
    return tree ? keep(*std::move(tree)) : std::move(tree).error();
  };
  return context.cache().Once(
      {scope_, kTurn}, context, [] { return false; }, take_turn);
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
    // Not metered: the unreadable container in its place is small.
    made = NewTree();
    container = UnreadableContainer((*container)->source(), refused.error());
    stands_in.emplace();
    made = MakeTree(slot, outer, *container, context.interrupt());
  }
  if (!made) return std::move(made).error();
  const NewTree tree = *std::move(made);
  tree->refused = stands_in.has_value();
  tree->bytes = tree->refused ? 0 : meter.bytes();
  // An interrupted container can lack what it could not read.
  CTXFS_TRY(context.Check());
  // So can a nested one whose outer container has changed: that is renewed
  // first. A stored container that has changed is renewed after opening.
  if (outer != nullptr) {
    CTXFS_TRY(tree->CheckUnchanged());
  }
  return Tree(tree);
}

}  // namespace ctxfs
