// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/base/interrupt.h"

namespace ctxfs {

/// An Interrupt that an object sets at its destruction, so that its threads
/// end.
class StopFlag final : public Interrupt {
 public:
  bool interrupted() const override { return set_; }
  void Set() {
    set_ = true;
    listeners_.Tell();
  }
  void AddListener(InterruptListener& one) const override {
    listeners_.Add(one);
  }
  void RemoveListener(InterruptListener& one) const override {
    listeners_.Remove(one);
  }

 private:
  mutable InterruptListeners listeners_;
  std::atomic<bool> set_ = false;
};

}  // namespace ctxfs
