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

/// Decides when a container may be opened (docs/robustness.md, section 4), so
/// that the memory of all open containers and all openings stays within the
/// budget.
///
/// An opening starts with a small reservation, which is enough for most. An
/// opening that needs more is abandoned and queues for its turn. One queued
/// opening at a time then restarts; its reservation grows as long as closing
/// unused containers frees memory.
///
/// A queued opening holds no memory, and the opening whose turn it is waits for
/// no other opening: the same thread opens the containers that belong to it,
/// such as the shards of a model. If containers in use leave it too little
/// memory, it waits up to Budget::patience for their release, and then fails.
///
/// An opening that needs more than the whole budget is refused: an unreadable
/// container replaces it. The need varies a little between openings, and so
/// does the memory that others leave. As the two outcomes show different files,
/// the first outcome is kept: a refused container is refused again, and one
/// that was open before fails until there is memory.
///
/// Safe for any number of threads.
class Admission {
 public:
  using Tree = std::shared_ptr<const ContainerSource>;

  /// The maximum number of open containers besides the top, and the maximum
  /// heap, in bytes, of open containers and openings: indexes, trees and all
  /// other data that they have parsed or unpacked, but not cached blocks.
  /// Unused containers are closed to free memory. An opening that still does
  /// not fit waits for others to become unused, and fails if none does within
  /// `patience`.
  struct Budget {
    size_t containers = limits::kOpenContainers;
    uint64_t bytes = limits::kOpenContainerBytes;
    uint64_t top = 0;  // heap used by opening the mount's only container
    std::chrono::milliseconds patience{250};
  };

  class OpenTrees {
   public:
    /// Bytes of all trees except `old`, which may be null or closed.
    virtual uint64_t BytesBut(const Tree& old) const = 0;
    /// Bytes of all trees except the mount's only container.
    virtual uint64_t BytesBesidesTop() const = 0;
    /// Closes the least recently used tree that is not in use, and returns its
    /// bytes; nullopt if there is none.
    virtual std::optional<uint64_t> CloseOldest() = 0;

   protected:
    ~OpenTrees() = default;
  };

  /// `room` is notified when one of `trees` is closed or released. Both must
  /// outlive this object.
  Admission(const Budget& budget, OpenTrees& trees, CondVar& room)
      : budget_(budget), trees_(trees), room_(room) {}

  /// Whether the container was open before, or was refused.
  enum class Before : uint8_t { kNeither, kOpen, kRefused };
  using Open = std::function<Result<Tree>(const HeapAllowance& allowance)>;
  /// Receives a tree while its memory is still reserved.
  using Keep = std::function<Status(Tree)>;

  /// Opens a container in place of `old`, which may be null: at once if it
  /// needs little memory, otherwise in its turn.
  Status Run(const Tree& old, Before before, const Open& open, const Keep& keep,
             const ReadContext& context);

 private:
  class Reservation;
  class LargeOpening;

  const Budget budget_;
  OpenTrees& trees_;
  CondVar& room_;  // notified when less is reserved, or a tree is closed or
                   // released
  const uint64_t turn_ = NewOwner();  // key of Once: one large opening at once

  mutable Mutex mutex_;  // held while trees_ takes its lock
  uint64_t reserved_ CTXFS_GUARDED_BY(mutex_) = 0;  // by all Reservations
  /// The time since which containers in use have left too little memory for the
  /// opening in turn.
  std::optional<std::chrono::steady_clock::time_point> short_since_
      CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
