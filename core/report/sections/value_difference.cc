// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/value_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/report/sections/element_windows.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kPairsAtATime = 65'536;  // elements read at a time

/// Collects the differences of pairs of elements.
class PairSums {
 public:
  void Add(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) {
      AddOther(a, b);
      return;
    }
    ValueDifference::Sums& sums = found_.sums;
    sums.product += static_cast<long double>(a) * b;
    sums.first_squares += static_cast<long double>(a) * a;
    sums.second_squares += static_cast<long double>(b) * b;
    ++sums.pairs;
    if (a != b) AddDifferent(a, std::abs(a - b));
  }

  const ValueDifference& Found() {
    found_.Conclude();
    return found_;
  }

 private:
  /// Adds a pair with a NaN or an infinity.
  void AddOther(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return;
    ++found_.different;
    ++found_.unlike;
  }

  void AddDifferent(double a, double difference) {
    ++found_.different;
    found_.sums.absolute += difference;
    found_.sums.squares += static_cast<long double>(difference) * difference;
    found_.max_absolute = std::max(found_.max_absolute, difference);
    if (a != 0) {
      found_.max_relative =
          std::max(found_.max_relative, difference / std::abs(a));
    }
    constexpr auto& kEnds = ValueDifference::kBinEnds;
    const auto* const bin =
        std::upper_bound(kEnds.begin(), kEnds.end(), difference);
    ++found_.bins[static_cast<size_t>(bin - kEnds.begin())];
  }

  ValueDifference found_;
};

}  // namespace

void ValueDifference::Add(const ValueDifference& other) {
  elements += other.elements;
  different += other.different;
  unlike += other.unlike;
  max_absolute = std::max(max_absolute, other.max_absolute);
  max_relative = std::max(max_relative, other.max_relative);
  for (size_t i = 0; i < bins.size(); ++i) bins[i] += other.bins[i];
  sums.pairs += other.sums.pairs;
  sums.absolute += other.sums.absolute;
  sums.squares += other.sums.squares;
  sums.product += other.sums.product;
  sums.first_squares += other.sums.first_squares;
  sums.second_squares += other.sums.second_squares;
  Conclude();
}

void ValueDifference::Conclude() {
  const long double a = std::sqrt(sums.first_squares);
  const long double b = std::sqrt(sums.second_squares);
  if (sums.pairs > 0) {
    mean_absolute = static_cast<double>(sums.absolute /
                                        static_cast<long double>(sums.pairs));
  }
  if (a > 0 || b > 0) {
    cosine = a > 0 && b > 0 ? static_cast<double>(std::clamp(
                                  sums.product / (a * b), -1.0L, 1.0L))
                            : 0;
  }
  if (sums.squares > 0) {
    relative_l2 = a > 0 ? static_cast<double>(std::sqrt(sums.squares) / a)
                        : std::numeric_limits<double>::infinity();
  }
}

Result<ValueDifference> DifferenceOf(const ArrayInfo& first,
                                     const ArrayInfo& second,
                                     const ReadContext& first_context,
                                     const ReadContext& second_context) {
  const uint64_t count = CountOf(first);
  ElementWindows a = CTXFS_TRY(ElementWindows::Open(first, first_context));
  ElementWindows b = CTXFS_TRY(ElementWindows::Open(second, second_context));
  PairSums sums;
  for (uint64_t at = 0; at < count; at += kPairsAtATime) {
    const auto length =
        static_cast<size_t>(std::min<uint64_t>(kPairsAtATime, count - at));
    const std::span<const double> left =
        CTXFS_TRY(a.At(at, length, first_context));
    const std::span<const double> right =
        CTXFS_TRY(b.At(at, length, second_context));
    for (size_t i = 0; i < length; ++i) sums.Add(left[i], right[i]);
  }
  ValueDifference result = sums.Found();
  result.elements = count;
  return result;
}

}  // namespace ctxfs
