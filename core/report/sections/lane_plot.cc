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

/// One line of the plot; gets its values in the order of the steps.
class Line {
 public:
  explicit Line(uint64_t steps)
      : steps_(steps), spans_(steps <= kMaxSteps ? steps : kSpans) {}

  void Add(double value) {
    const Point point{step_, value};
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
    uint64_t step;
    double value;
  };

  void Show(const Point& point) {
    x_.push_back(point.step);
    y_.push_back(Rounded(point.value));
  }

  void EndSpan() {
    if (!least_) {  // a gap in the line
      Show({steps_ * span_ / spans_, std::nan("")});
    } else {
      const bool rises = least_->step < greatest_->step;
      Show(rises ? *least_ : *greatest_);
      if (least_->step != greatest_->step) Show(rises ? *greatest_ : *least_);
    }
    least_.reset();
    greatest_.reset();
    ++span_;
  }

  const uint64_t steps_;
  const uint64_t spans_;
  uint64_t step_ = 0;  // of the next value
  uint64_t span_ = 0;  // the span of step_
  // The first minimum and the first maximum of the span's finite values.
  std::optional<Point> least_;
  std::optional<Point> greatest_;
  Json x_ = Json::array();
  Json y_ = Json::array();
};

/// Adds whole steps of `channels` elements.
void AddSteps(std::span<const double> values, size_t channels,
              std::vector<Line>& lines) {
  for (size_t at = 0; at < values.size(); at += channels) {
    for (size_t line = 0; line < lines.size(); ++line) {
      lines[line].Add(values[at + line]);
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

Result<Json> LanePlot(const ArrayInfo& array, const ReadContext& context) {
  ElementWindows elements = CTXFS_TRY(ElementWindows::Open(array, context));
  const uint64_t steps = array.shape[0];
  const auto channels = static_cast<size_t>(ChannelsOf(array));
  std::vector<Line> lines(std::min(channels, kLines), Line(steps));
  for (uint64_t first = 0; first < steps; first += kChunkSteps) {
    const auto count =
        static_cast<size_t>(std::min<uint64_t>(kChunkSteps, steps - first));
    AddSteps(
        CTXFS_TRY(elements.At(first * channels, count * channels, context)),
        channels, lines);
  }
  Json shown = Json::array();
  for (Line& line : lines) shown.push_back(line.Take());
  return Json{{"name", CutText(array.name, kArrayNameBytes)},
              {"dtype", DTypeName(array.dtype)},
              {"shape", array.shape},
              {"steps", steps},
              {"lines", std::move(shown)}};
}

}  // namespace ctxfs
