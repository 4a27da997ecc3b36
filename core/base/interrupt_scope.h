// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/interrupt.h"

namespace ctxfs {

/// The Interrupt of the work that this thread does now, for waits deep inside
/// it that are not passed one, such as a wait for a server. Scopes nest: a wait
/// ends when any of them is interrupted, so a thread that must answer its
/// request at once does not wait inside shared work either. Lives on the stack.
class InterruptScope final : public Interrupt {
 public:
  explicit InterruptScope(const Interrupt& interrupt)
      : interrupt_(interrupt), outer_(Current()) {
    Current() = this;
  }
  ~InterruptScope() override { Current() = outer_; }

  bool interrupted() const override {
    return interrupt_.interrupted() ||
           (outer_ != nullptr && outer_->interrupted());
  }
  bool MayTake(uint64_t bytes) const override {
    return interrupt_.MayTake(bytes) &&
           (outer_ == nullptr || outer_->MayTake(bytes));
  }

  /// Without a scope, work is never interrupted.
  static const Interrupt& OfThread() {
    if (Current() == nullptr) return NeverInterrupted();
    return *Current();
  }

 private:
  static const InterruptScope*& Current() {
    thread_local const InterruptScope* current = nullptr;
    return current;
  }

  const Interrupt& interrupt_;
  const InterruptScope* const outer_;
};

}  // namespace ctxfs
