// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The differences between the elements of two arrays, computed with float64.
struct ValueDifference {
  /// Upper bounds of the histogram's bins, exclusive. The last bin has none.
  static constexpr std::array<double, 15> kBinEnds = {
      1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
      1e-2,  1e-1, 1,    1e1,  1e2,  1e3,  1e4};

  uint64_t elements = 0;
  uint64_t different = 0;  // pairs of unequal elements, including `unlike`
  /// Pairs without a difference: exactly one is NaN, or the elements are
  /// unequal and one is infinite.
  uint64_t unlike = 0;
  // Of pairs of finite numbers:
  double max_absolute = 0;
  double max_relative = 0;  // |a - b| / |a|, where a is not 0
  double mean_absolute = 0;
  /// Cosine of the angle between the arrays as vectors; 1 if both are all
  /// zeros, 0 if only one is.
  double cosine = 1;
  /// The length of the differences as a vector, relative to that of the first
  /// array; infinite if only the first array is all zeros.
  double relative_l2 = 0;
  std::array<uint64_t, kBinEnds.size() + 1> bins{};  // of unequal pairs

  /// Sums over the pairs of finite numbers, from which fields above are
  /// computed. Long doubles do not overflow for squares of float64.
  struct Sums {
    uint64_t pairs = 0;
    long double absolute = 0;       // |a - b|
    long double squares = 0;        // (a - b)^2
    long double product = 0;        // a * b
    long double first_squares = 0;  // a^2
    long double second_squares = 0;
  };
  Sums sums;

  /// Adds the differences of another pair of arrays, as if the first arrays of
  /// both pairs were one array, and the second ones, too.
  void Add(const ValueDifference& other);
  /// Computes the numbers that `sums` determines.
  void Conclude();
};

/// Compares two usual arrays (IsUsual) of equal size, whose dtypes
/// HasStatistics, window by window. Reads each array with the context of its
/// container.
Result<ValueDifference> DifferenceOf(const ArrayInfo& first,
                                     const ArrayInfo& second,
                                     const ReadContext& first_context,
                                     const ReadContext& second_context);

}  // namespace ctxfs
