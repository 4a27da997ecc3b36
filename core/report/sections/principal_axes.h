// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Vectors projected onto the two directions in which they differ most.
struct Projection {
  std::vector<std::array<double, 2>> points;  // one for each vector
  /// The part of the variance that is along each direction, 0 to 1.
  std::array<double, 2> explained{};
};

/// Principal component analysis of `rows`, vectors of `width` finite floats
/// each, by power iteration: the mean is subtracted, the second direction is
/// orthogonal to the first, and the largest component of each is positive. The
/// same for the same vectors. Takes at most 60 passes over them for each
/// direction, and the memory of four vectors as float64. Returns no points if
/// there are fewer than 3 vectors, `width` is 1, or all are equal.
Result<Projection> ProjectRows(std::span<const float> rows, size_t width,
                               const ReadContext& context);

}  // namespace ctxfs
