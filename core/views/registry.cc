// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/views/view.h"

namespace ctxfs {

// A view that is missing here is never made. A misspelt name does not link.
extern const View kArrowView;
extern const View kFramesView;
extern const View kFvecsView;
extern const View kHfView;
extern const View kMergedView;
extern const View kNpyView;
extern const View kOverviewView;
extern const View kRaw16View;
extern const View kSafetensorsView;
extern const View kTableView;

namespace {

constexpr std::array kViews = {
    &kNpyView,    &kRaw16View, &kSafetensorsView, &kHfView,     &kFvecsView,
    &kFramesView, &kTableView, &kArrowView,       &kMergedView, &kOverviewView};

std::optional<size_t> PlaceOf(std::string_view name) {
  const auto found = std::ranges::find(kViews, name, &View::name);
  if (found == kViews.end()) return std::nullopt;
  return static_cast<size_t>(found - kViews.begin());
}

}  // namespace

std::span<const View* const> Views() { return kViews; }

ViewSet AllViews() {
  static_assert(kViews.size() < ViewSet().size());
  return ViewSet((1U << kViews.size()) - 1);
}

bool IsView(std::string_view name) { return PlaceOf(name).has_value(); }

std::optional<ViewSet> ParseViews(std::string_view list) {
  if (list == "all") return AllViews();
  ViewSet views;
  if (list == "none") return views;
  while (true) {
    const size_t end = list.find_first_of(":,");
    const std::optional<size_t> place = PlaceOf(list.substr(0, end));
    if (!place) return std::nullopt;
    views.set(*place);
    if (end == std::string_view::npos) return views;
    list.remove_prefix(end + 1);
  }
}

std::string ViewNames() {
  std::string names;
  for (const View* view : kViews) {
    if (!names.empty()) names += ',';
    names += view->name;
  }
  return names;
}

}  // namespace ctxfs
