// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

/// Counts the work of one walk of a value. Values can be shared, so a small
/// pickle can describe a value of any size.
class WalkBudget {
 public:
  void Charge(uint64_t visits) { spent_ += visits; }
  /// Charges copying or comparing `bytes` of text.
  void ChargeText(uint64_t bytes) { spent_ += bytes / 64; }

  bool exhausted() const { return spent_ > kMaxVisits; }

  /// Whether an interrupt check is due: at the first call, then every 16,384
  /// visits.
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
