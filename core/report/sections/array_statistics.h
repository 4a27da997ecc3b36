// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Statistics of the elements of an array. Undefined values, such as the
/// minimum of no numbers, are NaN.
struct ArrayStatistics {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  uint64_t elements = 0;  // of the array
  uint64_t read = 0;      // elements that the other fields describe
  uint64_t nans = 0;
  uint64_t infinities = 0;
  uint64_t zeros = 0;
  // Statistics of the finite elements:
  double min = kNone;
  double max = kNone;
  double mean = kNone;
  double deviation = kNone;    // of the population
  double low = kNone;          // start of the first bin
  double high = kNone;         // end of the last bin
  std::vector<uint64_t> bins;  // elements per bin; bins are equally wide
  // The extremes of 64-bit integers as digits; else empty.
  std::string exact_min;
  std::string exact_max;
};

/// Number of elements in the sample of a larger array.
constexpr uint64_t kSampledElements = 65'536;

/// Whether elements are real numbers of at least a byte each.
constexpr bool HasStatistics(DType dtype) {
  return !IsComplex(dtype) && DTypeBits(dtype) >= 8;
}

/// Reads a usual array (IsUsual) whose dtype HasStatistics: all of it if
/// `exact` or small, else a fixed sample of kSampledElements elements in 64
/// evenly spread runs. Computes with float64. With `exact`, reads arrays of
/// more than 2^20 elements twice.
Result<ArrayStatistics> StatisticsOf(const ArrayInfo& array, bool exact,
                                     const ReadContext& context);

}  // namespace ctxfs
