// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/lane_plot.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/report/script_json.h"
#include "core/report/sections/array_statistics.h"
#include "core/report/sections/element_windows.h"
#include "core/views/arrays/elements.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxChannels = 64;
constexpr size_t kLines = 8;
constexpr uint64_t kMaxSteps = 1000;
constexpr uint64_t kSpans = 500;
constexpr size_t kChunkSteps = 1024;  // read at a time

uint64_t ChannelsOf(const ArrayInfo& array) {
  return array.shape.size() == 1 ? 1 : array.shape[1];
}

/// A step, and its place on the plot's axis.
struct Step {
  uint64_t number;
  std::optional<double> seconds;

  Json Place() const {
    if (!seconds) return number;
    return std::round(*seconds * 1e6) / 1e6;
  }
};

/// One line of the plot. Values must be added in the order of the steps.
class Line {
 public:
  explicit Line(uint64_t steps)
      : steps_(steps), spans_(steps <= kMaxSteps ? steps : kSpans) {}

  void Add(const Step& step, double value) {
    const Point point{step, value};
    if (step_ == steps_ * span_ / spans_) start_ = step;
    if (std::isfinite(value)) {
      if (!least_ || value < least_->value) least_ = point;
      if (!greatest_ || value > greatest_->value) greatest_ = point;
    }
    ++step_;
    if (step_ == steps_ * (span_ + 1) / spans_) EndSpan();
  }

  Json Take() {
    if (spans_ == steps_) return {{"y", std::move(y_)}};
    return {{"x", std::move(x_)}, {"y", std::move(y_)}};
  }

 private:
  struct Point {
    Step step;
    double value;
  };

  void Show(const Point& point) {
    x_.push_back(point.step.Place());
    y_.push_back(Rounded(point.value));
  }

  void EndSpan() {
    if (!least_) {  // a gap in the line
      Show({start_, std::nan("")});
    } else {
      const uint64_t low = least_->step.number;
      const uint64_t high = greatest_->step.number;
      Show(low < high ? *least_ : *greatest_);
      if (low != high) Show(low < high ? *greatest_ : *least_);
    }
    least_.reset();
    greatest_.reset();
    ++span_;
  }

  const uint64_t steps_;
  const uint64_t spans_;
  uint64_t step_ = 0;  // of the next value
  uint64_t span_ = 0;  // the span of step_
  Step start_ = {};    // the first step of the span
  // The first minimum and the first maximum of the span's finite values.
  std::optional<Point> least_;
  std::optional<Point> greatest_;
  Json x_ = Json::array();
  Json y_ = Json::array();
};

/// The times of the steps; if there is no array of times, their numbers.
class StepAxis {
 public:
  static Result<StepAxis> Open(const ArrayInfo* seconds,
                               const ReadContext& context) {
    StepAxis axis;
    if (seconds == nullptr) return axis;
    axis.seconds_ = CTXFS_TRY(ElementWindows::Open(*seconds, context));
    return axis;
  }

  /// Returns the steps [first, first + count).
  Result<std::vector<Step>> At(uint64_t first, size_t count,
                               const ReadContext& context) {
    std::vector<Step> steps(count);
    for (size_t i = 0; i < count; ++i) steps[i].number = first + i;
    if (!seconds_) return steps;
    const std::span<const double> seconds =
        CTXFS_TRY(seconds_->At(first, count, context));
    for (size_t i = 0; i < count; ++i) {
      if (!std::isfinite(seconds[i])) {
        return Error{Code::kUnsupported, "a time that is no number"};
      }
      steps[i].seconds = seconds[i];
    }
    return steps;
  }

 private:
  std::optional<ElementWindows> seconds_;
};

/// Adds whole steps of `channels` elements.
void AddSteps(const std::vector<Step>& steps, std::span<const double> values,
              size_t channels, std::vector<Line>& lines) {
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t line = 0; line < lines.size(); ++line) {
      lines[line].Add(steps[i], values[i * channels + line]);
    }
  }
}

}  // namespace

bool IsPlottable(const ArrayInfo& array) {
  if (!HasStatistics(array.dtype)) return false;
  if (array.shape.empty() || array.shape.size() > 2) return false;
  const uint64_t channels = ChannelsOf(array);
  return array.shape[0] >= 2 && channels >= 1 && channels <= kMaxChannels &&
         BytesOf(array) <= kPlottedBytes;
}

Result<Json> LanePlot(const ArrayInfo& array, const ArrayInfo* seconds,
                      const ReadContext& context) {
  ElementWindows elements = CTXFS_TRY(ElementWindows::Open(array, context));
  StepAxis axis = CTXFS_TRY(StepAxis::Open(seconds, context));
  const uint64_t steps = array.shape[0];
  const auto channels = static_cast<size_t>(ChannelsOf(array));
  std::vector<Line> lines(std::min(channels, kLines), Line(steps));
  Json places = Json::array();
  Json last;
  for (uint64_t first = 0; first < steps; first += kChunkSteps) {
    const auto count =
        static_cast<size_t>(std::min<uint64_t>(kChunkSteps, steps - first));
    const std::vector<Step> part = CTXFS_TRY(axis.At(first, count, context));
    AddSteps(
        part,
        CTXFS_TRY(elements.At(first * channels, count * channels, context)),
        channels, lines);
    last = part.back().Place();
    if (steps > kMaxSteps) continue;
    for (const Step& step : part) places.push_back(step.Place());
  }
  Json shown = Json::array();
  for (Line& line : lines) shown.push_back(line.Take());
  Json plot = {{"name", CutText(array.name, kArrayNameBytes)},
               {"dtype", DTypeName(array.dtype)},
               {"shape", array.shape},
               {"steps", steps},
               {"lines", std::move(shown)}};
  if (seconds == nullptr) return plot;
  plot["end"] = std::move(last);
  if (!places.empty()) plot["x"] = std::move(places);
  return plot;
}

}  // namespace ctxfs
