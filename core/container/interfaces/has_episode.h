// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/container.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// How the time of a step is computed, in seconds: a number of ticks, times
/// `multiplier`, divided by `divisor`.
struct StepClock {
  double multiplier = 1;
  double divisor = 0;  // 0: unknown
  /// The ticks: one number a step. If there is no such array, the steps are
  /// the ticks.
  std::optional<ArrayInfo> ticks = std::nullopt;
  /// Whether ticks count from the first of them, not from 0.
  bool from_first = false;
  /// An array of one number, which takes the place of the divisor or, if it is
  /// the period, of the multiplier.
  std::optional<ArrayInfo> rate = std::nullopt;
  bool rate_is_period = false;

  bool known() const { return divisor != 0; }
};

/// The signals of a recording: arrays with a row for each step.
struct Episode {
  struct Omission {
    std::string name;
    std::string reason;
  };

  uint64_t steps = 0;
  std::vector<ArrayInfo> signals;  // of shape [steps, ...]
  StepClock clock;
  std::vector<Omission> left_out;  // what is not among `signals`
};

/// A container that may be an episode. A separate interface, like SaysFacts.
class HasEpisode {
 public:
  virtual ~HasEpisode() = default;

  /// Whether the container may be one; reads nothing.
  virtual bool MayBeEpisode() const = 0;

  /// Returns the signals of a container that may be an episode; nullopt if its
  /// arrays are none. Reads at most headers. Incomplete if interrupted.
  virtual std::optional<Episode> AsEpisode(
      const ReadContext& context) const = 0;
};

/// Returns the container's interface; null unless it may be an episode.
const HasEpisode* MayBeEpisode(const Container& container);

/// Arrays of an archive that may be an episode.
constexpr uint32_t kMaxEpisodeArrays = 4096;

/// Whether the name of an array tells of an episode: it is a time or an action
/// (docs/views.md, section 11).
bool NamesEpisode(std::string_view name);

/// Returns the episode that the arrays of an archive are; nullopt if they are
/// none. Its steps are the rows of the first array of times, or else of
/// actions, and another array has as many. `left_out`: what is no array.
std::optional<Episode> FindEpisode(std::vector<ArrayInfo> arrays,
                                   std::vector<Episode::Omission> left_out);

/// Adds `array` to the signals of an episode, or to what is left out if it does
/// not have a row for each step.
void AddSignal(ArrayInfo array, Episode& episode);

}  // namespace ctxfs
