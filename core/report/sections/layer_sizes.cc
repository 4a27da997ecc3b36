// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/layer_sizes.h"

#include <algorithm>
#include <utility>

#include "core/container/elements.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxGroups = 10'000;
constexpr size_t kGroupBytes = 200;
constexpr const char* kOtherGroup = "(other)";
constexpr std::string_view kSeparators = "./";

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

}  // namespace

std::string_view LayerOf(std::string_view name) {
  size_t last = std::string_view::npos;  // the last separator
  for (size_t at = 0; at < name.size();) {
    const size_t end = name.find_first_of(kSeparators, at);
    if (end == std::string_view::npos) break;
    if (IsNumber(name.substr(at, end - at))) return name.substr(0, end);
    last = end;
    at = end + 1;
  }
  if (last == std::string_view::npos || last == 0) return name;
  return name.substr(0, last);
}

std::string ModuleOf(std::string_view name) {
  name = name.substr(0, kGroupBytes);
  const size_t last = name.find_last_of(kSeparators);
  if (last == std::string_view::npos || last == 0) return std::string(name);
  std::string module;
  for (size_t at = 0; at <= last;) {
    const size_t end = name.find_first_of(kSeparators, at);
    const std::string_view part = name.substr(at, end - at);
    module += IsNumber(part) ? "*" : part;
    if (end < last) module += name[end];
    at = end + 1;
  }
  return module;
}

void SizeGroups::Counted::Add(const Counted& more) {
  bytes = AddUpTo(bytes, more.bytes);
  elements = AddUpTo(elements, more.elements);
  entries += more.entries;
}

void SizeGroups::Add(std::string_view group, uint64_t bytes,
                     uint64_t elements) {
  group = group.substr(0, kGroupBytes);
  auto found = groups_.find(group);
  if (found == groups_.end() && groups_.size() < kMaxGroups) {
    found =
        groups_.emplace(std::string(group), Counted{.order = groups_.size()})
            .first;
  }
  Counted& counted = found == groups_.end() ? other_ : found->second;
  counted.Add({.bytes = bytes, .elements = elements, .entries = 1});
}

std::vector<SizeGroup> SizeGroups::Largest(size_t most) const {
  using Named = std::pair<const std::string, Counted>;
  std::vector<const Named*> ordered;
  ordered.reserve(groups_.size());
  for (const Named& named : groups_) ordered.push_back(&named);
  std::sort(ordered.begin(), ordered.end(), [](const Named* a, const Named* b) {
    return std::pair(b->second.bytes, a->second.order) <
           std::pair(a->second.bytes, b->second.order);
  });
  Counted other = other_;
  for (size_t i = most; i < ordered.size(); ++i) other.Add(ordered[i]->second);
  ordered.resize(std::min(most, ordered.size()));
  std::sort(ordered.begin(), ordered.end(), [](const Named* a, const Named* b) {
    return a->second.order < b->second.order;
  });
  std::vector<SizeGroup> largest;
  const auto add = [&largest](const std::string& name, const Counted& one) {
    largest.push_back({name, one.bytes, one.elements, one.entries});
  };
  for (const Named* named : ordered) add(named->first, named->second);
  if (other.entries != 0) add(kOtherGroup, other);
  return largest;
}

Json LayerSizes::Largest(size_t most) const {
  Json layers = Json::array();
  for (const SizeGroup& one : groups_.Largest(most)) {
    layers.push_back({one.name, one.bytes, one.entries});
  }
  return layers;
}

}  // namespace ctxfs
