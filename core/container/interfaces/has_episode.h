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
  /// The array of ticks, one number per step. Without it, the tick of a step is
  /// its number.
  std::optional<ArrayInfo> ticks = std::nullopt;
  /// Whether the first tick is subtracted from all ticks.
  bool from_first = false;
  /// An array of one number, which replaces `divisor`, or if `rate_is_period`,
  /// `multiplier`.
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
  std::vector<Omission> left_out;  // arrays and files that are no signals
};

/// A container that may be an episode. A separate interface, like SaysFacts.
class HasEpisode {
 public:
  virtual ~HasEpisode() = default;

  /// Whether the container may be an episode. Reads nothing.
  virtual bool MayBeEpisode() const = 0;

  /// Returns the signals of a container that may be an episode; nullopt if its
  /// arrays do not form one. Reads at most headers. The result is incomplete if
  /// the request is interrupted.
  virtual std::optional<Episode> AsEpisode(
      const ReadContext& context) const = 0;
};

/// Returns the container's interface; null unless it may be an episode.
const HasEpisode* MayBeEpisode(const Container& container);

/// Maximum number of arrays in an archive that may be an episode.
constexpr uint32_t kMaxEpisodeArrays = 4096;

/// Whether the name of an array indicates an episode: it names a time or an
/// action (docs/views.md, section 11).
bool NamesEpisode(std::string_view name);

/// Returns the episode that the arrays of an archive form; nullopt if they form
/// none. The rows of the first array of times, or else of actions, are its
/// steps. At least one other array must have as many rows. `left_out`: the
/// files that are no arrays.
std::optional<Episode> FindEpisode(std::vector<ArrayInfo> arrays,
                                   std::vector<Episode::Omission> left_out);

/// Adds `array` to the signals of an episode, or to `left_out` if it does not
/// have a row for each step.
void AddSignal(ArrayInfo array, Episode& episode);

}  // namespace ctxfs
