// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/array_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "core/base/bytes.h"
#include "core/report/sections/element_windows.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kRuns = 64;
constexpr uint64_t kChunk = 16'384;  // elements read at a time
// Up to this number of elements (8 MiB) stay in memory for the second pass
// instead of being read twice.
constexpr uint64_t kKept = 1 << 20;
constexpr size_t kBins = 40;

bool IsInteger(DType dtype) { return dtype <= DType::kU64; }

/// Reads the elements of an array, or of its sample, in chunks.
class Reader {
 public:
  Reader(const ArrayInfo& array, ElementWindows elements, bool exact)
      : count_(CountOf(array)),
        sampled_(!exact && count_ > kSampledElements),
        elements_(std::move(elements)) {}

  uint64_t elements() const { return count_; }
  uint64_t read() const { return sampled_ ? kSampledElements : count_; }
  /// The elements of the chunk as they are stored, in the first pass.
  Bytes stored() const { return elements_.stored(); }

  using Look = std::function<void(std::span<const double>)>;

  Status ForEachChunk(const ReadContext& context, const Look& look) {
    if (!kept_.empty()) {
      look(kept_);
      return {};
    }
    std::vector<double> kept;
    const Look keep = [&](std::span<const double> values) {
      if (read() <= kKept) {
        kept.insert(kept.end(), values.begin(), values.end());
      }
      look(values);
    };
    const uint64_t runs = sampled_ ? kRuns : 1;
    const uint64_t length = read() / runs;
    for (uint64_t run = 0; run < runs; ++run) {
      // The first run is at the start of the array and the last at its end.
      const uint64_t first =
          runs == 1 ? 0 : Scaled(count_ - length, run, runs - 1);
      CTXFS_TRY(ReadRun(first, length, context, keep));
    }
    kept_ = std::move(kept);
    return {};
  }

 private:
  /// whole * part / parts without overflow.
  static uint64_t Scaled(uint64_t whole, uint64_t part, uint64_t parts) {
    return whole / parts * part + whole % parts * part / parts;
  }

  Status ReadRun(uint64_t first, uint64_t length, const ReadContext& context,
                 const Look& look) {
    for (uint64_t at = 0; at < length; at += kChunk) {
      const auto count =
          static_cast<size_t>(std::min<uint64_t>(kChunk, length - at));
      look(CTXFS_TRY(elements_.At(first + at, count, context)));
    }
    return {};
  }

  const uint64_t count_;
  const bool sampled_;
  ElementWindows elements_;
  std::vector<double> kept_;  // all elements, if at most kKept
};

/// The extremes of 64-bit integers, which float64 rounds.
class ExactExtremes {
 public:
  explicit ExactExtremes(DType dtype)
      : exact_(dtype == DType::kI64 || dtype == DType::kU64),
        bias_(dtype == DType::kI64 ? uint64_t{1} << 63 : 0) {}

  /// Adds elements as they are stored.
  void Add(Bytes elements) {
    if (!exact_) return;
    for (size_t at = 0; at < elements.size(); at += sizeof(uint64_t)) {
      const uint64_t place = LoadLe<uint64_t>(elements.data() + at) ^ bias_;
      least_ = std::min(least_, place);
      greatest_ = std::max(greatest_, place);
    }
  }

  void PutInto(ArrayStatistics& to) const {
    if (!exact_ || least_ > greatest_) return;
    to.exact_min = Text(least_);
    to.exact_max = Text(greatest_);
  }

 private:
  std::string Text(uint64_t place) const {
    const uint64_t bits = place ^ bias_;
    return bias_ == 0 ? std::to_string(bits)
                      : std::to_string(static_cast<int64_t>(bits));
  }

  const bool exact_;
  // Flips the sign bit, so that integers compare as unsigned ones.
  const uint64_t bias_;
  uint64_t least_ = UINT64_MAX;
  uint64_t greatest_ = 0;
};

/// The first pass: all statistics but bins and deviation. The sum is a long
/// double, which does not overflow.
struct Extremes {
  ArrayStatistics& to;
  bool integers = false;  // whether the elements are integers
  uint64_t finite = 0;
  long double sum = 0;
  double first = 0;
  // The greatest common divisor of the distances of all integers from `first`;
  // 0 if there are no distances. Identifiers and timestamps are often multiples
  // of a step.
  double step = 0;

  void Add(double value) {
    if (std::isnan(value)) {
      ++to.nans;
    } else if (std::isinf(value)) {
      ++to.infinities;
    } else {
      to.zeros += value == 0 ? 1 : 0;
      if (finite == 0 || value < to.min) to.min = value;
      if (finite == 0 || value > to.max) to.max = value;
      sum += value;
      if (finite++ == 0) first = value;
      if (integers && step != 1) AddDistance(std::abs(value - first));
    }
  }

 private:
  /// Updates `step` by Euclid's algorithm.
  void AddDistance(double distance) {
    while (distance != 0) {
      const double rest = std::fmod(step, distance);
      step = distance;
      distance = rest;
    }
  }
};

/// The number of integers in each of at most kBins bins. Prefers a number that
/// divides `values`, because the last bin would otherwise look too low.
double BinWidth(double values) {
  // With more values, the last bin is at least 98 % full for the least width.
  constexpr double kMany = 100'000;
  const double least = std::ceil(values / kBins);
  if (values > kMany) return least;
  double best = least;
  double fullest = 0;
  for (double width = least; width <= 2 * least && fullest < 1; ++width) {
    const double rest = std::fmod(values, width);
    const double full = rest == 0 ? 1 : rest / width;
    if (full <= fullest) continue;
    best = width;
    fullest = full;
  }
  return best;
}

/// Makes the bins. Each bin of integers covers the same number of integers,
/// because otherwise the bins of evenly spread data would differ. In a small
/// range each integer has its own bin; in a larger one, a bin covers a number
/// of steps.
void MakeBins(DType dtype, double step, ArrayStatistics& to) {
  const double range = to.max - to.min;
  if (IsInteger(dtype)) {
    const double of_one = range < kBins ? 1 : step;
    const double values = range / of_one + 1;
    const double width = BinWidth(values) * of_one;
    const double count = std::ceil(values * of_one / width);
    to.bins.assign(static_cast<size_t>(count), 0);
    to.low = to.min - 0.5;
    to.high = to.low + width * count;
  } else {
    to.bins.assign(range == 0 ? 1 : kBins, 0);
    to.low = to.min;
    to.high = to.max;
  }
}

/// The bin of a finite value. Computes with halves, because max - min may
/// overflow.
size_t BinOf(const ArrayStatistics& statistics, double value) {
  const double range = statistics.high / 2 - statistics.low / 2;
  if (!(range > 0)) return 0;
  const double place = (value / 2 - statistics.low / 2) / range *
                       static_cast<double>(statistics.bins.size());
  if (!(place > 0)) return 0;
  return std::min(statistics.bins.size() - 1, static_cast<size_t>(place));
}

}  // namespace

Result<ArrayStatistics> StatisticsOf(const ArrayInfo& array, bool exact,
                                     const ReadContext& context) {
  ElementWindows elements = CTXFS_TRY(ElementWindows::Open(array, context));
  Reader reader(array, std::move(elements), exact);
  ArrayStatistics statistics;
  statistics.elements = reader.elements();
  statistics.read = reader.read();
  Extremes extremes{.to = statistics, .integers = IsInteger(array.dtype)};
  ExactExtremes integers(array.dtype);
  Status done = reader.ForEachChunk(context, [&](std::span<const double> all) {
    for (const double value : all) extremes.Add(value);
    integers.Add(reader.stored());
  });
  if (!done) return std::move(done).error();
  integers.PutInto(statistics);
  if (extremes.finite == 0) return statistics;

  const auto finite = static_cast<long double>(extremes.finite);
  const long double mean = extremes.sum / finite;
  long double squares = 0;
  MakeBins(array.dtype, extremes.step, statistics);
  done = reader.ForEachChunk(context, [&](std::span<const double> all) {
    for (const double value : all) {
      if (!std::isfinite(value)) continue;
      const long double distance = value - mean;
      squares += distance * distance;
      ++statistics.bins[BinOf(statistics, value)];
    }
  });
  if (!done) return std::move(done).error();
  statistics.mean = static_cast<double>(mean);
  statistics.deviation = static_cast<double>(std::sqrt(squares / finite));
  return statistics;
}

}  // namespace ctxfs
