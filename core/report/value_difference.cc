// SPDX-License-Identifier: Apache-2.0
#include "core/report/value_difference.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/report/array_statistics.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kPairsAtATime = 65'536;  // elements that are read at a time

/// Reads the elements of one array in chunks.
class PairedElements {
 public:
  PairedElements(const ArrayInfo& array, Content content,
                 const ReadContext& context)
      : dtype_(array.dtype),
        width_(DTypeSize(array.dtype)),
        content_(std::move(content)),
        context_(context) {}

  /// Elements [first, first + count), valid until the next call.
  Result<std::span<const double>> At(uint64_t first, size_t count) {
    CTXFS_TRY(context_.Check());
    bytes_.resize(count * width_);
    values_.resize(count);
    const MutableBytes bytes(bytes_.data(), bytes_.size());
    CTXFS_TRY(ReadInto(content_, first * width_, bytes, context_));
    ToDoubles(dtype_, bytes, values_);
    return std::span<const double>(values_);
  }

 private:
  const DType dtype_;
  const size_t width_;
  const Content content_;
  const ReadContext context_;
  std::vector<std::byte> bytes_;
  std::vector<double> values_;
};

/// The sums over all pairs. They are long doubles, which squares of float64 do
/// not overflow.
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
  /// A pair with a NaN or an infinity.
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

Result<PairedElements> OpenPaired(const ArrayInfo& array,
                                  const ReadContext& context) {
  Content content = CTXFS_TRY(OpenElements(array, context));
  // Reading no elements verifies nothing, and their checksum may be wrong.
  if (content.size() == 0) {
    CTXFS_TRY(content.Verify(context));
  }
  return PairedElements(array, std::move(content), context);
}

}  // namespace

Result<ValueDifference> DifferenceOf(const ArrayInfo& first,
                                     const ArrayInfo& second,
                                     const ReadContext& first_context,
                                     const ReadContext& second_context) {
  const uint64_t count = CountOf(first);
  PairedElements a = CTXFS_TRY(OpenPaired(first, first_context));
  PairedElements b = CTXFS_TRY(OpenPaired(second, second_context));
  PairSums sums;
  for (uint64_t at = 0; at < count; at += kPairsAtATime) {
    const auto length =
        static_cast<size_t>(std::min<uint64_t>(kPairsAtATime, count - at));
    const std::span<const double> left = CTXFS_TRY(a.At(at, length));
    const std::span<const double> right = CTXFS_TRY(b.At(at, length));
    for (size_t i = 0; i < length; ++i) sums.Add(left[i], right[i]);
  }
  ValueDifference result = sums.Found();
  result.elements = count;
  return result;
}

}  // namespace ctxfs
