// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/containers/admission.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "core/base/heap/heap_meter.h"
#include "core/base/interrupt.h"
#include "core/base/interruptible_wait.h"

namespace ctxfs {
namespace {

// Fractions of the budget. A large opening grows in steps of 1/64, and a small
// one takes no more than that (or kSmallWorkBytes, if less). During the turn of
// a large opening, 1/8 is left to small ones.
constexpr uint64_t kSmallPart = 64;
constexpr uint64_t kSparePart = 8;
// Bytes of a closed container that are worth a malloc_trim.
constexpr uint64_t kWorthTrimming = uint64_t{4} << 20;

}  // namespace

/// The part of the budget that is reserved for one opening until it finishes.
/// While `old`, the tree that the opening replaces, is open, its memory is not
/// counted.
class Admission::Reservation {
 public:
  Reservation(Admission& admission, const Tree& old)
      : admission_(admission), old_(old) {}
  ~Reservation() {
    const MutexLock lock(admission_.mutex_);
    CTXFS_ASSERT(bytes_ <= admission_.reserved_);
    admission_.reserved_ -= bytes_;
    admission_.room_.NotifyAll();
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// Reserves `bytes` more, if `spare` bytes of the budget then remain. Closes
  /// unused containers if needed.
  bool Take(uint64_t bytes, uint64_t spare) {
    const UnmeteredHeap closing;
    while (!TakeOfFree(bytes, spare)) {
      const std::optional<uint64_t> closed = admission_.trees_.CloseOldest();
      if (!closed) return false;
      // The freed memory may be too fragmented for new allocations.
      if (*closed >= kWorthTrimming && spare > 0) ::malloc_trim(0);
    }
    return true;
  }

  /// Waits for memory to be released. Returns false if interrupted, or after
  /// Budget::patience without success.
  bool AwaitRoom(InterruptibleWait& wait) {
    const MutexLock lock(admission_.mutex_);
    const auto now = CondVar::Clock::now();
    const auto since = admission_.short_since_.value_or(now);
    admission_.short_since_ = since;
    const auto end = since + admission_.budget_.patience;
    if (now >= end) return false;
    wait.Wait(admission_.mutex_, end);
    return true;
  }

  /// Whether this opening had nearly the whole budget: other reservations and
  /// trees, except the top, take at most a quarter of it. Closing them would
  /// hardly help, so Grow then refuses a container that was not open before as
  /// too large.
  bool HadNearlyAll() const {
    constexpr uint64_t kLittle = 4;  // divides the budget
    const MutexLock lock(admission_.mutex_);
    const uint64_t others =
        admission_.reserved_ - bytes_ + admission_.trees_.BytesBesidesTop();
    return others <= admission_.budget_.bytes / kLittle;
  }

 private:
  bool TakeOfFree(uint64_t bytes, uint64_t spare) {
    const uint64_t most = admission_.budget_.bytes - spare;
    const MutexLock lock(admission_.mutex_);
    const uint64_t taken =
        admission_.trees_.BytesBut(old_) + admission_.reserved_;
    if (taken > most || bytes > most - taken) return false;
    admission_.reserved_ += bytes;
    bytes_ += bytes;
    if (spare > 0) admission_.short_since_.reset();
    return true;
  }

  Admission& admission_;
  const Tree& old_;
  uint64_t bytes_ = 0;
};

/// The allowance of the large opening in turn.
class Admission::LargeOpening final : public HeapAllowance {
 public:
  LargeOpening(Admission& admission, Reservation& reservation, Before before,
               const Interrupt& interrupt)
      : HeapAllowance(0, {Code::kLimit, "index="}),
        reservation_(reservation),
        room_(admission.room_),
        interrupt_(interrupt),
        step_(admission.budget_.bytes / kSmallPart),
        spare_(admission.budget_.bytes / kSparePart),
        left_(before == Before::kRefused ? step_ : admission.budget_.bytes),
        was_open_(before == Before::kOpen) {}

 private:
  uint64_t Grow(uint64_t bytes) override {
    const UnmeteredHeap waiting;
    InterruptibleWait wait(room_, interrupt_);
    while (true) {
      // If interrupted, this gives up only after a last Take.
      const bool interrupted = wait.IsInterrupted();
      for (const uint64_t more : {std::max(bytes, step_), bytes}) {
        if (more > left_ || !reservation_.Take(more, spare_)) continue;
        left_ -= more;
        return more;
      }
      final_ = !was_open_ && (bytes > left_ || reservation_.HadNearlyAll());
      if (final_ || interrupted || !reservation_.AwaitRoom(wait)) return 0;
    }
  }
  // kNoMemory is transient: memory may be free once other containers are
  // closed.
  Refusal refusal() const override {
    return {final_ ? Code::kLimit : Code::kNoMemory, "index="};
  }

  Reservation& reservation_;
  CondVar& room_;
  const Interrupt& interrupt_;
  const uint64_t step_;
  const uint64_t spare_;
  uint64_t left_;
  const bool was_open_;
  bool final_ = false;
};

Status Admission::Run(const Tree& old, Before before, const Open& open,
                      const Keep& keep, const ReadContext& context) {
  const auto keep_opened = [&keep](Result<Tree> tree) -> Status {
    return tree ? keep(*std::move(tree)) : std::move(tree).error();
  };
  const bool refused = before == Before::kRefused;
  const uint64_t little =
      std::min(limits::kSmallWorkBytes, budget_.bytes / kSmallPart);
  {
    Reservation reservation(*this, old);
    if (reservation.Take(little, 0)) {
      const HeapAllowance allowance(
          little, {refused ? Code::kLimit : Code::kInterrupted, "index="});
      Result<Tree> tree = open(allowance);
      if (refused || !allowance.exceeded()) return keep_opened(std::move(tree));
    }
  }
  const auto take_turn = [&](const ReadContext& /*shared*/) -> Status {
    FreeSpareMemory();
    // Uses the interrupt of `context`, not of `shared`: other threads that wait
    // for the turn open other containers, so they do not need this result.
    Reservation reservation(*this, old);
    const LargeOpening allowance(*this, reservation, before,
                                 context.interrupt());
    Result<Tree> tree = open(allowance);
    ::malloc_trim(0);  // frees the parser's memory before the next turn
    return keep_opened(std::move(tree));
  };
  return context.cache().Once(
      {turn_, 0}, context, [] { return false; }, take_turn);
}

}  // namespace ctxfs
