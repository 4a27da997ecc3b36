// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/container/exports.h"
#include "core/container/interfaces/has_episode.h"

namespace ctxfs {

/// Returns the time of each step in seconds, an f64 array named "time"; nullopt
/// if the episode has no clock. If the rate is no positive number, the times
/// are NaN.
std::optional<ArrayInfo> SecondsOf(const Episode& episode);

/// Returns the number of each step, from 0: an i64 array named "step".
ArrayInfo StepNumbersOf(const Episode& episode);

}  // namespace ctxfs
