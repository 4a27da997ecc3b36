// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"

namespace ctxfs {

/// Bytes that a codec outputs between two checks for an interrupt.
constexpr size_t kBytesPerCheck = size_t{1} << 20;

/// Is notified that an Interrupt may be interrupted now. MayBeInterrupted may
/// be called by any thread and under locks of the notifier, so it must take no
/// lock except its own.
class InterruptListener {
 public:
  virtual void MayBeInterrupted() = 0;

 protected:
  ~InterruptListener() = default;
};

class InterruptListeners {
 public:
  void Add(InterruptListener& one) {
    const MutexLock lock(mutex_);
    all_.push_back(&one);
  }
  /// Waits until a running call of `one` returns. Later, none begins.
  void Remove(InterruptListener& one) {
    const MutexLock lock(mutex_);
    all_.erase(std::ranges::find(all_, &one));
  }
  void Tell() {
    const MutexLock lock(mutex_);
    for (InterruptListener* one : all_) one->MayBeInterrupted();
  }

 private:
  Mutex mutex_;
  std::vector<InterruptListener*> all_ CTXFS_GUARDED_BY(mutex_);
};

/// Reports to a long computation whether its result is still wanted.
class Interrupt {
 public:
  using Clock = std::chrono::steady_clock;

  Interrupt() = default;
  virtual ~Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether to give up. Once true, stays true. Callable from any thread, and
  /// cheap enough to be called once per 64 KiB of work.
  virtual bool interrupted() const = 0;

  /// Returns whether this thread may start work of about `bytes` bytes.
  /// kUnknownWork: the amount is unknown, as of a wait for another thread. A
  /// thread that has to stay responsive starts small work only: if MayTake
  /// returns false, the request is repeated on another thread.
  virtual bool MayTake(uint64_t /*bytes*/) const { return true; }
  static constexpr uint64_t kUnknownWork = UINT64_MAX;

  /// From now until RemoveListener has returned, notifies `one` when
  /// interrupted() may have become true. A wait must also test interrupted() at
  /// AskAgainAt().
  virtual void AddListener(InterruptListener& /*one*/) const {}
  virtual void RemoveListener(InterruptListener& /*one*/) const {}
  /// Returns the time at which interrupted() may become true without a
  /// notification of the listeners.
  virtual Clock::time_point AskAgainAt() const {
    return Clock::time_point::max();
  }

  /// Fails with kInterrupted if the computation is to stop. A function that
  /// gets this error must return it. If a function cannot return errors, its
  /// result is then incomplete and must not be used.
  Status Check() const {
    if (!interrupted()) return {};
    return Error{Code::kInterrupted, "interrupted"};
  }
  /// Like Check, but also fails if this thread may not start work of about
  /// `bytes` bytes (MayTake).
  Status CheckFor(uint64_t bytes) const {
    if (MayTake(bytes) && !interrupted()) return {};
    return Error{Code::kInterrupted, "interrupted"};
  }
};

/// Returns an Interrupt for work that always completes.
inline const Interrupt& NeverInterrupted() {
  class Never final : public Interrupt {
   public:
    bool interrupted() const override { return false; }
  };
  static const Never never;
  return never;
}

}  // namespace ctxfs
