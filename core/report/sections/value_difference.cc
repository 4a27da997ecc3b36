// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/value_difference.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/report/sections/element_windows.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kPairsAtATime = 65'536;  // elements read at a time

/// The sums over all pairs, as long doubles, which do not overflow for squares
/// of float64.
class PairSums {
 public:
  void Add(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) {
      AddOther(a, b);
      return;
    }
    product_ += static_cast<long double>(a) * b;
    first_ += static_cast<long double>(a) * a;
    second_ += static_cast<long double>(b) * b;
    ++finite_;
    if (a != b) AddDifferent(a, std::abs(a - b));
  }

  ValueDifference Found() const {
    ValueDifference result = found_;
    if (finite_ > 0) {
      result.mean_absolute =
          static_cast<double>(sum_ / static_cast<long double>(finite_));
    }
    if (first_ > 0 || second_ > 0) {
      const long double length = std::sqrt(first_) * std::sqrt(second_);
      result.cosine =
          length > 0
              ? static_cast<double>(std::clamp(product_ / length, -1.0L, 1.0L))
              : 0;
    }
    return result;
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
    sum_ += difference;
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
  uint64_t finite_ = 0;
  long double sum_ = 0;
  long double product_ = 0;
  long double first_ = 0;
  long double second_ = 0;
};

}  // namespace

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
