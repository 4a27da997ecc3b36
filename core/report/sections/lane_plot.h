// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Maximum bytes of a plotted lane, because all of it is read.
constexpr uint64_t kPlottedBytes = uint64_t{64} * 1024 * 1024;

/// Whether a usual array (IsUsual) can be plotted over its first dimension: it
/// must have numbers of shape [T] or [T,C] with T >= 2 and 1 <= C <= 64, and at
/// most kPlottedBytes bytes.
bool IsPlottable(const ArrayInfo& array);

/// The plot of a plottable array: a line for each channel of the C, at most the
/// first 8, over the times of the steps, or over the numbers of the steps if
/// `seconds` is null:
///
///   {"name", "dtype", "shape", "steps": T, "lines": [{"x"?, "y"}],
///    "end"?: seconds of the last step, "x"?: seconds of all steps}
///
/// A line of up to 1000 steps has all of them and no "x". A longer line has the
/// minimum and maximum of each of 500 equal spans, so that no peak is lost, and
/// the place of each as "x". Values have 6 significant digits; NaN and
/// infinities are null. Fails if a time is not finite.
Result<Json> LanePlot(const ArrayInfo& array, const ArrayInfo* seconds,
                      const ReadContext& context);

}  // namespace ctxfs
