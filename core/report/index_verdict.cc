// SPDX-License-Identifier: Apache-2.0
#include "core/report/index_verdict.h"

#include <fmt/core.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/errors.h"
#include "core/base/text/count_of.h"
#include "core/container/cut_file.h"

namespace ctxfs {
namespace {

/// "damaged: 26 of 39 entries cannot be read"; empty if nothing is damaged.
std::string DamageText(const Container& container) {
  const std::shared_ptr<const FileTable> entries = container.Entries();
  uint64_t damaged = 0;
  for (uint32_t i = 0; i < entries->count(); ++i) {
    const std::optional<Error> fault = entries->Facts(i).fault;
    if (fault && IsDamage(*fault)) ++damaged;
  }
  if (damaged > 0) {
    return fmt::format("damaged: {} of {} cannot be read", damaged,
                       CountOf(entries->count(), "entry"));
  }
  const size_t faults = container.Faults().size();
  return faults == 0 ? "" : "damaged: " + CountOf(faults, "fault");
}

}  // namespace

std::string_view IndexVerdict::Name() const {
  constexpr std::array<std::string_view, 5> kNames = {
      "complete", "partial", "incomplete", "damaged", "cut"};
  return kNames.at(static_cast<size_t>(outcome));
}

IndexVerdict IndexVerdict::Of(const Container& container, const Json& info) {
  if (const std::optional<CutFile> cut = CutOf(container)) {
    return {Outcome::kCut, cut->Text()};
  }
  if (std::string damage = DamageText(container); !damage.empty()) {
    return {Outcome::kDamaged, std::move(damage)};
  }
  if (info.contains("incomplete")) {
    return {Outcome::kIncomplete,
            "incomplete: a loader would not get all of it"};
  }
  for (const Warning& warning : container.warnings()) {
    if (warning.severity != Severity::kPartial) continue;
    return {Outcome::kPartial, "partial: a part of the file is not shown"};
  }
  return {Outcome::kComplete, "complete"};
}

}  // namespace ctxfs
