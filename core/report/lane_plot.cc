// SPDX-License-Identifier: Apache-2.0
#include "core/report/lane_plot.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/report/array_statistics.h"
#include "core/report/script_json.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMostChannels = 64;
constexpr uint64_t kLines = 8;
constexpr uint64_t kMostSteps = 1000;
constexpr uint64_t kSpans = 500;
constexpr size_t kNameBytes = 200;

uint64_t ChannelsOf(const ArrayInfo& array) {
  return array.shape.size() == 1 ? 1 : array.shape[1];
}

/// The steps with the least and the greatest value of values[from, to), in
/// their order; nothing if none of them is finite.
std::vector<uint64_t> ExtremeSteps(const std::vector<double>& values,
                                   uint64_t from, uint64_t to) {
  std::optional<uint64_t> least;
  std::optional<uint64_t> greatest;
  for (uint64_t at = from; at < to; ++at) {
    if (!std::isfinite(values[at])) continue;
    if (!least || values[at] < values[*least]) least = at;
    if (!greatest || values[at] > values[*greatest]) greatest = at;
  }
  if (!least) return {};
  if (*least == *greatest) return {*least};
  return {std::min(*least, *greatest), std::max(*least, *greatest)};
}

Json LineOf(const std::vector<double>& values) {
  Json y = Json::array();
  if (values.size() <= kMostSteps) {
    for (const double value : values) y.push_back(Rounded(value));
    return {{"y", std::move(y)}};
  }
  Json x = Json::array();
  const uint64_t steps = values.size();
  for (uint64_t span = 0; span < kSpans; ++span) {
    const uint64_t from = steps * span / kSpans;
    const std::vector<uint64_t> extremes =
        ExtremeSteps(values, from, steps * (span + 1) / kSpans);
    if (extremes.empty()) {  // a gap in the line
      x.push_back(from);
      y.push_back(nullptr);
    }
    for (const uint64_t step : extremes) {
      x.push_back(step);
      y.push_back(Rounded(values[step]));
    }
  }
  return {{"x", std::move(x)}, {"y", std::move(y)}};
}

}  // namespace

bool IsPlottable(const ArrayInfo& array) {
  if (!HasStatistics(array.dtype)) return false;
  if (array.shape.empty() || array.shape.size() > 2) return false;
  const uint64_t channels = ChannelsOf(array);
  return array.shape[0] >= 2 && channels >= 1 && channels <= kMostChannels &&
         BytesOf(array) <= kPlottedBytes;
}

Result<Json> LanePlot(const ArrayInfo& array, const ReadContext& context) {
  const Result<Content> elements = OpenElements(array, context);
  if (!elements) return elements.error();
  Buffer bytes(static_cast<size_t>(elements->size()));
  if (Status read = ReadInto(*elements, 0, bytes.span(), context); !read) {
    return std::move(read).error();
  }
  const uint64_t steps = array.shape[0];
  const uint64_t channels = ChannelsOf(array);
  const size_t width = DTypeSize(array.dtype);
  Json lines = Json::array();
  std::vector<double> values(static_cast<size_t>(steps));
  for (uint64_t line = 0; line < std::min(channels, kLines); ++line) {
    if (Status wanted = context.Check(); !wanted) {
      return std::move(wanted).error();
    }
    for (uint64_t step = 0; step < steps; ++step) {
      const auto at = static_cast<size_t>(step * channels + line) * width;
      ToDoubles(array.dtype, bytes.span().subspan(at, width),
                {&values[static_cast<size_t>(step)], 1});
    }
    lines.push_back(LineOf(values));
  }
  return Json{{"name", CutText(array.name, kNameBytes)},
              {"dtype", DTypeName(array.dtype)},
              {"shape", array.shape},
              {"steps", steps},
              {"lines", std::move(lines)}};
}

}  // namespace ctxfs
