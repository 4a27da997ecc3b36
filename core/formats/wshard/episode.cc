// SPDX-License-Identifier: Apache-2.0
//
// The lanes of an episode as arrays and as signals over time (docs/views.md,
// sections 1 and 11).
#include <cmath>
#include <utility>

#include "core/base/limits.h"
#include "core/content/check_at.h"
#include "core/formats/wshard/wshard.h"

namespace ctxfs::wshard {
namespace {

constexpr double kNanoseconds = 1e9;  // in a second
// Each signal, and the reason why one is left out, costs some hundred bytes.
constexpr uint32_t kMaxEpisodeEntries = 65'536;

/// Returns the lane `name` if it has one number per step; else null.
const ArrayInfo* FindAxis(const Episode& episode, std::string_view name) {
  for (const ArrayInfo& lane : episode.signals) {
    if (lane.name != name) continue;
    return IsNumber(lane.dtype) && lane.shape.size() == 1 ? &lane : nullptr;
  }
  return nullptr;
}

}  // namespace

void SetClock(StepClock rate, Episode& episode) {
  if (const ArrayInfo* times = FindAxis(episode, "time/timestamps_ns")) {
    episode.clock = {
        .divisor = kNanoseconds, .ticks = *times, .from_first = true};
    return;
  }
  if (const ArrayInfo* ticks = FindAxis(episode, "time/ticks")) {
    rate.ticks = *ticks;
  }
  if (rate.known()) episode.clock = std::move(rate);
}

StepClock WShardContainer::Rate() const {
  const Json* timebase = MemberAt(episode_, "timebase");
  if (timebase == nullptr) return {};
  const Json* hertz = MemberAt(*timebase, "tick_hz");
  if (hertz != nullptr && hertz->is_number()) {
    const auto rate = hertz->get<double>();
    if (std::isfinite(rate) && rate > 0) return {.divisor = rate};
  }
  const auto step = CountAt(*timebase, "dt_ns");
  if (!step || *step == 0) return {};
  return {.multiplier = static_cast<double>(*step), .divisor = kNanoseconds};
}

Exports WShardContainer::Export() const {
  Exports exports;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (!LaneOf(i) && !SignsOf(i)) continue;
    exports.bundle_name = "episode";
    exports.arrays = [self = Share(*this)](const ReadContext& context) {
      return self->Arrays(context);
    };
    break;
  }
  return exports;
}

ArrayInfo WShardContainer::LaneArray(uint32_t entry, Lane lane) const {
  return {std::string(*EntryName(entry)), lane.dtype, std::move(lane.shape),
          [self = Share(*this), entry](const ReadContext& context) {
            return self->OpenEntry(entry, context);
          }};
}

ArrayInfo WShardContainer::SignArray(uint32_t entry,
                                     const SignLayout& layout) const {
  return {
      SignsPath(entry), DType::kI8, layout.shape(),
      [self = Share(*this), file = SignFile{entry, layout}](
          const ReadContext& /*context*/) { return self->OpenSigns(file); }};
}

std::vector<ArrayInfo> WShardContainer::Arrays(
    const ReadContext& context) const {
  if (entry_count() > limits::kArrayEntries) return {};
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (!CheckAt(context, i)) break;
    if (std::optional<Lane> lane = LaneOf(i)) {
      arrays.push_back(LaneArray(i, *std::move(lane)));
    } else if (const std::optional<SignLayout> layout = SignsOf(i)) {
      arrays.push_back(SignArray(i, *layout));
    }
  }
  return arrays;
}

std::optional<Episode> WShardContainer::AsEpisode(
    const ReadContext& context) const {
  if (!length() || entry_count() > kMaxEpisodeEntries) return std::nullopt;
  Episode episode;
  episode.steps = *length();
  for (uint32_t i = 0; i < entry_count(); ++i) {
    if (!CheckAt(context, i)) break;
    std::string why_not;
    if (std::optional<Lane> lane = LaneOf(i, &why_not)) {
      AddSignal(LaneArray(i, *std::move(lane)), episode);
    } else if (SignsOf(i)) {
      episode.left_out.push_back(
          {SignsPath(i), "it is computed from residual bits"});
    } else if (!why_not.empty()) {
      episode.left_out.push_back(
          {std::string(*EntryName(i)), "no array: " + why_not});
    }
  }
  SetClock(Rate(), episode);
  return episode;
}

}  // namespace ctxfs::wshard
