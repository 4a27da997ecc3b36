// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

/// Counts the work of one walk of a value. Values may be shared, so that a
/// small pickle can describe a value of any size.
class WalkBudget {
 public:
  void Charge(uint64_t visits) { spent_ += visits; }
  /// Counts the work of copying or comparing `bytes` of text.
  void ChargeText(uint64_t bytes) { spent_ += bytes / 64; }

  bool exhausted() const { return spent_ > kMaxVisits; }

  /// Whether it is time to check for an interrupt: at the first call, and after
  /// 16,384 visits since the last.
  bool CheckIsDue() {
    if (spent_ < next_check_) return false;
    next_check_ = spent_ + kVisitsPerCheck;
    return true;
  }

 private:
  static constexpr uint64_t kVisitsPerCheck = 16'384;

  uint64_t spent_ = 0;
  uint64_t next_check_ = 0;
};

}  // namespace ctxfs::torch
