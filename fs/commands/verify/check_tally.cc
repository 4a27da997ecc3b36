// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/check_tally.h"

#include <fmt/core.h>

#include <numeric>
#include <utility>

#include "core/base/text/count_of.h"

namespace ctxfs {

void Tally::Add(const CheckReport& report) {
  for (const Fault& fault : report.faults) {
    (fault.IsDamage() ? damaged_ : unchecked_) = true;
  }
  incomplete_ += report.incomplete.empty() ? 0U : 1U;
  ++outcomes_[static_cast<size_t>(report.Outcome())];
}

uint64_t Tally::containers() const {
  return std::accumulate(outcomes_.begin(), outcomes_.end(), uint64_t{0});
}

std::string Tally::Text(uint64_t others) const {
  std::string text = fmt::format("{} checked, {} damaged",
                                 containers() - Of(CheckOutcome::kUnchecked),
                                 Of(CheckOutcome::kDamaged));
  const std::pair<uint64_t, const char*> rest[] = {
      {Of(CheckOutcome::kPartial), "partial"},
      {Of(CheckOutcome::kUnchecked), "could not be checked"},
      {Of(CheckOutcome::kUnverifiable), "without checksums"},
      {incomplete_, "incomplete"}};
  for (const auto& [count, words] : rest) {
    if (count > 0) text += fmt::format(", {} {}", count, words);
  }
  return text + ", " + CountOf(others, "other file");
}

}  // namespace ctxfs
