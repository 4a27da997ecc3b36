// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/vfs/containers/container_source.h"

namespace ctxfs {

/// When a container may be opened (docs/robustness.md, section 4). What all
/// open containers take, and what those being opened may take, is at most the
/// budget.
///
/// An opening starts with a little memory, and most need no more. One that does
/// is abandoned and waits for its turn. One at a time then starts again, and
/// gets what it needs as long as closing unused containers makes room.
///
/// An opening that waits for its turn holds no memory, and the one whose turn
/// it is waits for no other: the same thread opens what belongs to it, such as
/// the shards of a model. If containers in use leave it too little memory, it
/// waits up to Budget::patience for them to be released, and then fails.
///
/// One that needs more than the budget is refused: an unreadable container
/// stands in for it. What it needs varies a little, and so does what others
/// have left. As the files of both differ, it stays what it first was: one that
/// was refused is refused again, and one that was open fails until there is
/// room.
///
/// Safe for any number of threads.
class Admission {
 public:
  using Tree = std::shared_ptr<const ContainerSource>;

  /// How many containers besides the top are kept open, and bytes of heap that
  /// all of them and those being opened may take: indexes, trees, whatever else
  /// they have parsed or unpacked, but not blocks of the cache. Unused
  /// containers are closed to make room. An opening that still does not fit
  /// waits for others to become unused, and fails if it gains nothing for
  /// `patience`.
  struct Budget {
    size_t containers = limits::kOpenContainers;
    uint64_t bytes = limits::kOpenContainerBytes;
    uint64_t top = 0;  // bytes that opening the mount's only container took
    std::chrono::milliseconds patience{250};
  };

  /// The containers that are open.
  class OpenTrees {
   public:
    /// Bytes of all, but for `old`, which may be null or closed by now.
    virtual uint64_t BytesBut(const Tree& old) const = 0;
    /// Bytes of all but the mount's only container.
    virtual uint64_t BytesBesidesTop() const = 0;
    /// Closes the one that was not used for longest and that nobody uses now,
    /// and returns its bytes; nullopt if there is none.
    virtual std::optional<uint64_t> CloseOldest() = 0;

   protected:
    ~OpenTrees() = default;
  };

  /// `room` is notified when one of `trees` is closed or no longer in use. Both
  /// outlive this object.
  Admission(const Budget& budget, OpenTrees& trees, CondVar& room)
      : budget_(budget), trees_(trees), room_(room) {}

  /// Whether the container was open before, or was refused.
  enum class Before : uint8_t { kNeither, kOpen, kRefused };
  using Open = std::function<Result<Tree>(const HeapAllowance& allowance)>;
  /// Takes a tree while its memory is still reserved.
  using Keep = std::function<Status(Tree)>;

  /// Opens a container in place of `old`, which may be null: at once if it
  /// needs little memory, otherwise when it is its turn.
  Status Run(const Tree& old, Before before, const Open& open, const Keep& keep,
             const ReadContext& context);

 private:
  class Reservation;
  class LargeOpening;

  const Budget budget_;
  OpenTrees& trees_;
  CondVar& room_;  // less is reserved, closed, or no longer in use
  const uint64_t turn_ = NewOwner();  // of the key of who has the turn

  mutable Mutex mutex_;  // a call of trees_ may take its lock within
  uint64_t reserved_ CTXFS_GUARDED_BY(mutex_) = 0;  // by all Reservations
  /// Since when containers in use leave too little to the opening whose turn it
  /// is.
  std::optional<std::chrono::steady_clock::time_point> short_since_
      CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
