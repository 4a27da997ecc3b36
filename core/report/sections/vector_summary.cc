// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/vector_summary.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/codec/crypto/digest.h"
#include "core/report/script_json.h"
#include "core/report/sections/array_statistics.h"
#include "core/report/sections/element_windows.h"
#include "core/report/sections/principal_axes.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxVectors = 1'000'000;
constexpr uint64_t kMaxProjectedBytes = 64 * limits::kMiB;
constexpr uint64_t kMaxWidth = 1 << 20;
constexpr uint64_t kReadAtATime = 32'768;  // elements
constexpr size_t kNormBins = 40;
constexpr size_t kRepeats = 10;

/// Index `i` of `count` indices spread evenly over `all`; `i` if count == all.
uint64_t Spread(uint64_t i, uint64_t count, uint64_t all) {
  return all / count * i + all % count * i / count;
}

uint64_t VectorsRead(const ArrayInfo& array, uint64_t most_bytes) {
  const uint64_t count = array.shape[0];
  const bool all = count <= kMaxVectors && BytesOf(array) <= most_bytes;
  return all ? count : std::min(count, kProjectedVectors);
}

struct Seen {
  std::array<uint64_t, 2> digest;
  uint64_t number;

  auto operator<=>(const Seen&) const = default;
};

/// Statistics of vectors, which are added one by one.
class Summary {
 public:
  Summary(uint64_t count, size_t width) : width_(width) {
    norms_.reserve(count);
    seen_.reserve(count);
  }

  void Add(uint64_t number, std::span<const double> vector, bool projected) {
    double squares = 0;
    bool fits = true;
    for (const double value : vector) {
      squares += value * value;
      fits = fits && std::abs(value) <= FLT_MAX;  // false for NaN
    }
    if (fits) norms_.push_back(std::sqrt(squares));
    if (!fits) ++infinite_;
    Remember(number, vector);
    if (fits && projected) {
      projected_.insert(projected_.end(), vector.begin(), vector.end());
    }
  }

  Status AddTo(Json& shown, const ReadContext& context) {
    AddNorms(shown);
    AddRepeats(shown);
    const Projection projection =
        CTXFS_TRY(ProjectRows(projected_, width_, context));
    if (projection.points.empty()) return {};
    Json points = Json::array();
    for (const auto& [x, y] : projection.points) {
      points.push_back({Rounded(x, 4), Rounded(y, 4)});
    }
    shown["projected"] = projection.points.size();
    shown["points"] = std::move(points);
    shown["explained"] = {Rounded(projection.explained[0], 4),
                          Rounded(projection.explained[1], 4)};
    return {};
  }

 private:
  void Remember(uint64_t number, std::span<const double> vector) {
    Sha256 digest;
    digest.Update(std::as_bytes(vector));
    const std::string raw = digest.Raw();
    Seen seen{{}, number};
    std::memcpy(&seen.digest, raw.data(),
                std::min(raw.size(), sizeof seen.digest));
    seen_.push_back(seen);
  }

  void AddNorms(Json& shown) const {
    shown["infinite"] = infinite_;
    shown["zeros"] = std::count(norms_.begin(), norms_.end(), 0.0);
    if (norms_.empty()) return;
    const auto [least, most] =
        std::minmax_element(norms_.begin(), norms_.end());
    const double range = *most - *least;
    std::vector<uint64_t> bins(range > 0 ? kNormBins : 1);
    double sum = 0;
    for (const double norm : norms_) {
      sum += norm;
      const double place =
          range > 0 ? (norm - *least) / range * static_cast<double>(kNormBins)
                    : 0;
      ++bins[std::min(bins.size() - 1, static_cast<size_t>(place))];
    }
    shown["min"] = shown["low"] = *least;
    shown["max"] = shown["high"] = *most;
    shown["mean"] = sum / static_cast<double>(norms_.size());
    shown["bins"] = std::move(bins);
  }

  void AddRepeats(Json& shown) {
    std::ranges::sort(seen_);
    using Repeat = std::pair<uint64_t, uint64_t>;  // repeats, first
    std::vector<Repeat> repeats;
    uint64_t repeated = 0;
    for (size_t at = 0; at < seen_.size();) {
      size_t end = at + 1;
      while (end < seen_.size() && seen_[end].digest == seen_[at].digest) ++end;
      repeated += end - at - 1;
      if (end - at > 1) repeats.emplace_back(end - at - 1, seen_[at].number);
      at = end;
    }
    std::ranges::sort(repeats, [](const Repeat& a, const Repeat& b) {
      return std::pair(b.first, a.second) < std::pair(a.first, b.second);
    });
    repeats.resize(std::min(repeats.size(), kRepeats));
    shown["repeated"] = repeated;
    shown["repeats"] = Json::array();
    for (const auto& [more, first] : repeats) {
      shown["repeats"].push_back({first, more});
    }
  }

  const size_t width_;
  std::vector<double> norms_;  // of finite vectors
  uint64_t infinite_ = 0;
  std::vector<Seen> seen_;
  std::vector<float> projected_;
};

}  // namespace

bool IsVectors(const ArrayInfo& array) {
  return array.shape.size() == 2 && array.shape[0] > 0 && array.shape[1] > 0 &&
         array.shape[1] <= kMaxWidth && HasStatistics(array.dtype) &&
         array.dtype != DType::kI64 && array.dtype != DType::kU64;
}

uint64_t VectorBytes(const ArrayInfo& array, uint64_t most_bytes) {
  return VectorsRead(array, most_bytes) * (BytesOf(array) / array.shape[0]);
}

Result<Json> VectorSummary(const ArrayInfo& array, uint64_t most_bytes,
                           const ReadContext& context) {
  const uint64_t all = array.shape[0];
  const auto width = static_cast<size_t>(array.shape[1]);
  const uint64_t count = VectorsRead(array, most_bytes);
  const uint64_t projected = std::min(
      {count, kProjectedVectors, kMaxProjectedBytes / sizeof(float) / width});
  const uint64_t at_a_time =
      count == all ? std::max<uint64_t>(1, kReadAtATime / width) : 1;
  ElementWindows elements = CTXFS_TRY(ElementWindows::Open(array, context));
  Summary summary(count, width);
  uint64_t next = 0;  // next vector to project
  for (uint64_t i = 0; i < count; i += at_a_time) {
    const uint64_t first = Spread(i, count, all);
    const uint64_t rows = std::min(at_a_time, count - i);
    const std::span<const double> values = CTXFS_TRY(
        elements.At(first * width, static_cast<size_t>(rows) * width, context));
    for (uint64_t row = 0; row < rows; ++row) {
      const bool take =
          next < projected && i + row == Spread(next, projected, count);
      next += take ? 1 : 0;
      summary.Add(first + row,
                  values.subspan(static_cast<size_t>(row) * width, width),
                  take);
    }
  }
  Json shown = {{"name", CutText(array.name, kArrayNameBytes)},
                {"dtype", DTypeName(array.dtype)},
                {"shape", array.shape},
                {"elements", all},
                {"read", count}};
  CTXFS_TRY(summary.AddTo(shown, context));
  return shown;
}

}  // namespace ctxfs
