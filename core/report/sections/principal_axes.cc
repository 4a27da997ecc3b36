// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/principal_axes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ctxfs {
namespace {

constexpr int kMaxPasses = 60;
constexpr double kConverged = 1e-9;  // 1 - cosine of two passes
constexpr size_t kElementsACheck = 1 << 20;

using Axis = std::vector<double>;

double Dot(const Axis& a, const Axis& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Subtracts from `axis` its component along `other`, which has length 1 or 0.
void MakeOrthogonal(const Axis& other, Axis& axis) {
  const double along = Dot(other, axis);
  for (size_t k = 0; k < axis.size(); ++k) axis[k] -= along * other[k];
}

/// Scales to length 1; returns the previous length.
double Normalize(Axis& axis) {
  const double length = std::sqrt(Dot(axis, axis));
  if (length > 0) {
    for (double& component : axis) component /= length;
  }
  return length;
}

class Rows {
 public:
  Rows(std::span<const float> rows, size_t width, const ReadContext& context)
      : rows_(rows), width_(width), context_(context), mean_(width) {}

  size_t count() const { return rows_.size() / width_; }
  size_t width() const { return width_; }

  /// Calls `act` with each vector.
  template <typename Act>
  Status ForEach(const Act& act) const {
    const size_t rows_a_check = std::max<size_t>(1, kElementsACheck / width_);
    for (size_t i = 0; i < count(); ++i) {
      if (i % rows_a_check == 0) CTXFS_TRY(context_.Check());
      act(i, rows_.subspan(i * width_, width_));
    }
    return {};
  }

  /// Computes the mean; returns the sum of squared distances from it.
  Result<double> Center() {
    CTXFS_TRY(ForEach([this](size_t, std::span<const float> row) {
      for (size_t k = 0; k < width_; ++k) mean_[k] += row[k];
    }));
    for (double& one : mean_) one /= static_cast<double>(count());
    double squares = 0;
    CTXFS_TRY(ForEach([&](size_t, std::span<const float> row) {
      for (size_t k = 0; k < width_; ++k) {
        squares += (row[k] - mean_[k]) * (row[k] - mean_[k]);
      }
    }));
    return squares;
  }

  double Along(std::span<const float> row, const Axis& axis) const {
    double along = 0;
    for (size_t k = 0; k < width_; ++k) along += (row[k] - mean_[k]) * axis[k];
    return along;
  }

  /// Returns the product of the covariance matrix of the vectors, their number,
  /// and `axis`.
  Result<Axis> Transformed(const Axis& axis) const {
    Axis result(width_);
    CTXFS_TRY(ForEach([&](size_t, std::span<const float> row) {
      const double along = Along(row, axis);
      for (size_t k = 0; k < width_; ++k) {
        result[k] += along * (row[k] - mean_[k]);
      }
    }));
    return result;
  }

 private:
  const std::span<const float> rows_;
  const size_t width_;
  const ReadContext& context_;
  Axis mean_;
};

struct FoundAxis {
  Axis axis;
  double squares;  // the sum of squares along the axis
};

/// Finds the direction of largest variance orthogonal to `other`.
Result<FoundAxis> FindAxis(const Rows& rows, const Axis& other) {
  Axis axis(rows.width());
  // Any start works that is not orthogonal to the result.
  for (size_t k = 0; k < axis.size(); ++k) {
    axis[k] = 1 + std::cos(static_cast<double>(k) * 1.7 + 0.3);
  }
  MakeOrthogonal(other, axis);
  (void)Normalize(axis);
  double squares = 0;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    Axis next = CTXFS_TRY(rows.Transformed(axis));
    MakeOrthogonal(other, next);
    squares = Normalize(next);
    const bool converged = 1 - std::abs(Dot(axis, next)) < kConverged;
    axis = std::move(next);
    if (converged || squares == 0) break;
  }
  const auto largest = std::max_element(
      axis.begin(), axis.end(),
      [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (*largest < 0) {
    for (double& component : axis) component = -component;
  }
  return FoundAxis{std::move(axis), squares};
}

}  // namespace

Result<Projection> ProjectRows(std::span<const float> rows, size_t width,
                               const ReadContext& context) {
  Projection projection;
  if (width < 2 || rows.size() / width < 3) return projection;
  Rows all(rows, width, context);
  const double squares = CTXFS_TRY(all.Center());
  if (!(squares > 0) || !std::isfinite(squares)) return projection;
  const FoundAxis first = CTXFS_TRY(FindAxis(all, Axis(width)));
  const FoundAxis second = CTXFS_TRY(FindAxis(all, first.axis));
  projection.explained = {std::min(1.0, first.squares / squares),
                          std::min(1.0, second.squares / squares)};
  projection.points.resize(all.count());
  CTXFS_TRY(all.ForEach([&](size_t i, std::span<const float> row) {
    projection.points[i] = {all.Along(row, first.axis),
                            all.Along(row, second.axis)};
  }));
  return projection;
}

}  // namespace ctxfs
