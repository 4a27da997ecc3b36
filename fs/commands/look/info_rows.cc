// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/look/info_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/base/text/count_of.h"
#include "core/base/text/human_size.h"
#include "core/container/elements.h"
#include "core/report/identity.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

/// Returns "7.2B" or "34.7M", for example; below a million, all digits.
std::string ShortCount(uint64_t number) {
  constexpr std::array<std::pair<double, char>, 3> kUnits = {
      {{1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}}};
  for (const auto& [size, unit] : kUnits) {
    if (static_cast<double>(number) < size) continue;
    return fmt::format("{:.1f}{}", static_cast<double>(number) / size, unit);
  }
  return Grouped(number);
}

bool IsModel(const ContainerSummary& summary) {
  return summary.all_tensors && summary.arrays > 0;
}

}  // namespace

std::string DtypesText(const ContainerSummary& summary, size_t most) {
  std::vector<std::pair<uint64_t, std::string>> ordered;
  for (const auto& [dtype, count] : summary.dtypes) {
    ordered.emplace_back(UINT64_MAX - count.bytes, dtype);
  }
  std::ranges::sort(ordered);
  std::string text;
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (i == most) return text + ", ...";
    text += (i == 0 ? "" : ", ") + ordered[i].second;
  }
  return text;
}

Colour ColourOf(const IndexVerdict& verdict) {
  using Outcome = IndexVerdict::Outcome;
  switch (verdict.outcome) {
    case Outcome::kComplete:
      return Colour::kNone;
    case Outcome::kPartial:
    case Outcome::kIncomplete:
      return Colour::kYellow;
    case Outcome::kDamaged:
    case Outcome::kCut:
      return Colour::kRed;
  }
  return Colour::kNone;
}

TextTable InfoRows::Header() {
  return {{"parameters", "size", "dtypes", "format", "state", "name"}, {0, 1}};
}

void InfoRows::Start(const std::string& directory) {
  if (directory == directory_) return;
  Flush();
  directory_ = directory;
  titled_ = false;
}

void InfoRows::Add(const std::string& name, const Container& container) {
  constexpr size_t kMaxDtypes = 3;
  const ContainerSummary summary = ContainerSummary::Of(container);
  const Json info = container.Info(LoneContext());
  const IndexVerdict verdict = IndexVerdict::Of(container, info);
  const auto or_dash = [](std::string text) {
    return text.empty() ? std::string("-") : text;
  };
  table_.Add({IsModel(summary) ? ShortCount(summary.elements) : "-",
              HumanSize(container.StoredSize()),
              or_dash(ShownText(DtypesText(summary, kMaxDtypes))),
              ShownText(info.value("format", "unknown")),
              std::string(verdict.Name()), ShownName(name)});
  Count(container, summary);
  if (++held_ == kMaxHeld) Flush();
}

void InfoRows::Count(const Container& container,
                     const ContainerSummary& summary) {
  ++count_;
  const CountedOnce::Sums before = counted_.Add(container);
  const auto without = [](uint64_t all, uint64_t counted) {
    return all - std::min(all, counted);
  };
  bytes_ =
      AddUpTo(bytes_, without(container.StoredSize(), before.stored_bytes));
  if (!IsModel(summary)) return;
  parameters_ =
      AddUpTo(parameters_, without(summary.elements, before.elements));
}

void InfoRows::Separate() {
  if (std::exchange(printed_, true)) std::puts("");
}

void InfoRows::Flush() {
  if (table_.empty()) return;
  std::string text = table_.Aligned(terminal_, "  ");
  if (titled_) {
    text.erase(0, text.find('\n') + 1);  // the header
  } else {
    Separate();
    std::puts(terminal_.Paint(Colour::kBold, ShownName(directory_)).c_str());
  }
  std::fputs(text.c_str(), stdout);
  titled_ = true;
  table_ = Header();
  held_ = 0;
}

std::string InfoRows::Totals() const {
  std::string text = Grouped(count_) + " " + NounOf(count_, "container");
  if (parameters_ > 0) {
    text +=
        ", " + Counted(parameters_) + " " + NounOf(parameters_, "parameter");
  }
  return text + ", " + HumanSize(bytes_);
}

}  // namespace ctxfs
