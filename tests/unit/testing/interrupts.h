// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/interrupt.h"

namespace ctxfs {

/// An Interrupt that a test sets.
class SettableInterrupt final : public Interrupt {
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

/// Interrupts at the check after the first `answers` ones. A loop that checks
/// too rarely is noticed, because it does not stop.
class InterruptAfter final : public Interrupt {
 public:
  explicit InterruptAfter(uint64_t answers) : left_(answers) {}

  bool interrupted() const override {
    ++asked_;
    if (left_ == 0) return true;
    --left_;
    return false;
  }
  uint64_t asked() const { return asked_; }

 private:
  mutable std::atomic<uint64_t> left_;
  mutable std::atomic<uint64_t> asked_ = 0;
};

}  // namespace ctxfs
