// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "core/base/dtype.h"
#include "core/container/facts/facts.h"
#include "core/container/interfaces/has_episode.h"

namespace ctxfs {
namespace {

/// The last component of an array's name, in lower case; empty if it has more
/// than 32 bytes.
std::string LastComponent(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  if (name.size() > 32) return {};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return lower;
}

template <typename Names>
bool IsOneOf(std::string_view name, const Names& names) {
  return std::ranges::find(names, name) != std::end(names);
}

struct TimeUnit {
  std::string_view suffix;
  double per_second;
};

/// Returns the unit in the name of an array of times; nullopt for any other
/// name. Without a suffix, floats are seconds, and the unit of integers is
/// unknown.
std::optional<TimeUnit> TimeUnitOf(std::string_view name) {
  constexpr std::string_view kTimes[] = {"time",       "times", "timestamp",
                                         "timestamps", "t",     "ts"};
  constexpr TimeUnit kUnits[] = {{"_s", 1},    {"_sec", 1},  {"_seconds", 1},
                                 {"_ms", 1e3}, {"_us", 1e6}, {"_ns", 1e9}};
  const std::string last = LastComponent(name);
  if (IsOneOf(last, kTimes)) return TimeUnit{"", 1};
  for (const TimeUnit& unit : kUnits) {
    if (!last.ends_with(unit.suffix)) continue;
    const auto stem =
        std::string_view(last).substr(0, last.size() - unit.suffix.size());
    if (IsOneOf(stem, kTimes)) return unit;
  }
  return std::nullopt;
}

bool IsAction(std::string_view name) {
  const std::string last = LastComponent(name);
  return last == "action" || last == "actions";
}

bool IsTimes(const ArrayInfo& array) {
  return array.shape.size() == 1 && IsNumber(array.dtype) &&
         TimeUnitOf(array.name).has_value();
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64;
}

StepClock ClockOfTimes(const ArrayInfo& times) {
  const TimeUnit unit = *TimeUnitOf(times.name);
  if (unit.suffix.empty() && !IsFloat(times.dtype)) return {};
  return {.divisor = unit.per_second, .ticks = times, .from_first = true};
}

/// Returns the clock of an array that is a rate or a period: a single number.
std::optional<StepClock> ClockOfRate(const ArrayInfo& array) {
  constexpr std::string_view kRates[] = {"fps", "hz"};
  const bool one =
      array.shape.empty() || (array.shape.size() == 1 && array.shape[0] == 1);
  const std::string last = LastComponent(array.name);
  const bool period = last == "dt";
  if (!one || !IsNumber(array.dtype) || !(period || IsOneOf(last, kRates))) {
    return std::nullopt;
  }
  return StepClock{.divisor = 1, .rate = array, .rate_is_period = period};
}

StepClock ClockOf(const std::vector<ArrayInfo>& arrays, uint64_t steps) {
  for (const ArrayInfo& array : arrays) {
    if (!IsTimes(array) || array.shape[0] != steps) continue;
    StepClock clock = ClockOfTimes(array);
    if (clock.known()) return clock;
  }
  for (const ArrayInfo& array : arrays) {
    if (std::optional<StepClock> clock = ClockOfRate(array)) {
      return *std::move(clock);
    }
  }
  return {};
}

/// Returns the array whose rows are the steps; null if there is none.
const ArrayInfo* FindLeader(const std::vector<ArrayInfo>& arrays) {
  auto found = std::ranges::find_if(arrays, &IsTimes);
  if (found == arrays.end()) {
    found = std::ranges::find_if(arrays, [](const ArrayInfo& array) {
      return !array.shape.empty() && IsAction(array.name);
    });
  }
  return found == arrays.end() ? nullptr : &*found;
}

}  // namespace

const HasEpisode* MayBeEpisode(const Container& container) {
  const auto* episode = dynamic_cast<const HasEpisode*>(&container);
  return episode != nullptr && episode->MayBeEpisode() ? episode : nullptr;
}

bool NamesEpisode(std::string_view name) {
  return TimeUnitOf(name).has_value() || IsAction(name);
}

void AddSignal(ArrayInfo array, Episode& episode) {
  if (!array.shape.empty() && array.shape[0] == episode.steps) {
    episode.signals.push_back(std::move(array));
    return;
  }
  std::string reason = fmt::format(
      "{}: it does not have a row for each of the {} steps",
      ArrayText(DTypeName(array.dtype), array.shape), episode.steps);
  episode.left_out.push_back({std::move(array.name), std::move(reason)});
}

std::optional<Episode> FindEpisode(std::vector<ArrayInfo> arrays,
                                   std::vector<Episode::Omission> left_out) {
  const ArrayInfo* leader = FindLeader(arrays);
  if (leader == nullptr) return std::nullopt;
  Episode episode;
  episode.steps = leader->shape[0];
  episode.left_out = std::move(left_out);
  episode.clock = ClockOf(arrays, episode.steps);
  for (ArrayInfo& array : arrays) AddSignal(std::move(array), episode);
  if (episode.signals.size() < 2) return std::nullopt;
  return episode;
}

}  // namespace ctxfs
