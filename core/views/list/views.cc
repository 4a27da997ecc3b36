// SPDX-License-Identifier: Apache-2.0
#include "core/views/list/views.h"

#include <algorithm>

namespace ctxfs {

// Only views listed here exist. A misspelt name does not link.
extern const View kArrowView;
extern const View kFramesView;
extern const View kFvecsView;
extern const View kHfView;
extern const View kMergedView;
extern const View kNpyView;
extern const View kOverviewView;
extern const View kRaw16View;
extern const View kSafetensorsView;
extern const View kSignalsView;
extern const View kTableView;

namespace {

const View* Find(std::string_view name) {
  const auto found = std::ranges::find(AllViews(), name, &View::name);
  return found == AllViews().end() ? nullptr : *found;
}

}  // namespace

const ViewSet& AllViews() {
  static const ViewSet views = {&kNpyView,    &kRaw16View,   &kSafetensorsView,
                                &kHfView,     &kFvecsView,   &kFramesView,
                                &kTableView,  &kArrowView,   &kSignalsView,
                                &kMergedView, &kOverviewView};
  return views;
}

bool IsView(std::string_view name) { return Find(name) != nullptr; }

std::optional<ViewSet> ParseViews(std::string_view list) {
  if (list == "all") return AllViews();
  ViewSet named;
  if (list == "none") return named;
  while (true) {
    const size_t end = list.find_first_of(":,");
    const View* const view = Find(list.substr(0, end));
    if (view == nullptr) return std::nullopt;
    named.push_back(view);
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  ViewSet ordered;
  std::ranges::copy_if(AllViews(), std::back_inserter(ordered),
                       [&named](const View* view) {
                         return std::ranges::find(named, view) != named.end();
                       });
  return ordered;
}

std::string ViewNames() {
  std::string names;
  for (const View* view : AllViews()) {
    if (!names.empty()) names += ',';
    names += view->name;
  }
  return names;
}

}  // namespace ctxfs
