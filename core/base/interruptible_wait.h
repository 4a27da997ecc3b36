// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include "core/base/interrupt.h"
#include "core/base/mutex.h"

namespace ctxfs {

/// Calls `tell` whenever `interrupt` may have been interrupted. Any thread may
/// make this call, and `tell` must take no lock except its own
/// (InterruptListener). `interrupt` must outlive this object.
template <typename Tell>
class ListeningTo final : private InterruptListener {
 public:
  ListeningTo(const Interrupt& interrupt, Tell tell)
      : interrupt_(interrupt), tell_(std::move(tell)) {
    interrupt_.AddListener(*this);
  }
  ~ListeningTo() { interrupt_.RemoveListener(*this); }
  ListeningTo(const ListeningTo&) = delete;
  ListeningTo& operator=(const ListeningTo&) = delete;

 private:
  void MayBeInterrupted() override { tell_(); }

  const Interrupt& interrupt_;
  const Tell tell_;
};

/// Waits for a condition or an interrupt. While the condition is false:
///   if (wait.IsInterrupted()) return ...;
///   wait.Wait(mutex);
/// The condition must change only under `mutex`; then no change is missed. An
/// interrupt after IsInterrupted makes the following Wait return.
class InterruptibleWait final : private InterruptListener {
 public:
  /// `changed` and `interrupt` must outlive this object.
  InterruptibleWait(CondVar& changed, const Interrupt& interrupt)
      : changed_(changed), interrupt_(interrupt) {
    interrupt_.AddListener(*this);
  }
  ~InterruptibleWait() { interrupt_.RemoveListener(*this); }
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;

  bool IsInterrupted() {
    ticket_ = changed_.TakeTicket();
    return interrupt_.interrupted();
  }
  /// Returns at `end` at the latest.
  void Wait(Mutex& mutex,
            CondVar::Clock::time_point end = CondVar::Clock::time_point::max())
      CTXFS_REQUIRES(mutex) {
    changed_.WaitUntil(mutex, std::min(end, interrupt_.AskAgainAt()), ticket_);
  }

 private:
  void MayBeInterrupted() override { changed_.NotifyAll(); }

  CondVar& changed_;
  const Interrupt& interrupt_;
  CondVar::Ticket ticket_ = 0;
};

}  // namespace ctxfs
