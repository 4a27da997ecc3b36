// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fs/commands/verify/check_report.h"

namespace ctxfs {

/// The totals over all containers, which decide the exit code.
class Tally {
 public:
  void Add(const CheckReport& report);
  /// Counts a SOURCE without a container.
  void AddEmpty() { unchecked_ = true; }
  /// Counts a directory with missing files.
  void AddMissingFiles() { damaged_ = true; }

  uint64_t containers() const;

  /// Returns the totals, such as "19 checked, 3 damaged, 38 other files".
  /// `others` is the number of other files.
  std::string Text(uint64_t others) const;

  /// Bit 0: damage. Bit 1: something was not checked.
  size_t Bits() const { return (damaged_ ? 1U : 0U) + (unchecked_ ? 2U : 0U); }

 private:
  uint64_t Of(CheckOutcome outcome) const {
    return outcomes_[static_cast<size_t>(outcome)];
  }

  std::array<uint64_t, kCheckOutcomes> outcomes_{};
  uint64_t incomplete_ = 0;  // containers that lack views
  bool damaged_ = false;
  bool unchecked_ = false;  // something could not be read or opened
};

}  // namespace ctxfs
