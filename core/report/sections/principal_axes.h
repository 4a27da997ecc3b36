// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Vectors projected onto the two directions of largest variance.
struct Projection {
  std::vector<std::array<double, 2>> points;  // one per vector
  /// The fraction of the variance along each direction.
  std::array<double, 2> explained{};
};

/// Principal component analysis of `rows`, vectors of `width` finite floats, by
/// power iteration: subtracts the mean, makes the second direction orthogonal
/// to the first, and the largest component of each positive. Deterministic.
/// Makes at most 60 passes per direction and uses the memory of four float64
/// vectors. Returns no points for fewer than 3 vectors, a `width` of 1, or
/// equal vectors.
Result<Projection> ProjectRows(std::span<const float> rows, size_t width,
                               const ReadContext& context);

}  // namespace ctxfs
