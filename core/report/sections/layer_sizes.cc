// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/layer_sizes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/report/container_summary.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxLayers = 10'000;
constexpr size_t kLayerBytes = 200;

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

}  // namespace

std::string_view LayerOf(std::string_view name) {
  size_t last = std::string_view::npos;  // the last separator
  for (size_t at = 0; at < name.size();) {
    const size_t end = name.find_first_of("./", at);
    if (end == std::string_view::npos) break;
    if (IsNumber(name.substr(at, end - at))) return name.substr(0, end);
    last = end;
    at = end + 1;
  }
  if (last == std::string_view::npos || last == 0) return name;
  return name.substr(0, last);
}

void LayerSizes::Add(std::string_view name, uint64_t bytes) {
  std::string_view layer = LayerOf(name);
  layer = layer.substr(0, kLayerBytes);
  auto found = layers_.find(layer);
  if (found == layers_.end() && layers_.size() < kMaxLayers) {
    found = layers_.emplace(std::string(layer), Layer{.order = layers_.size()})
                .first;
  }
  Layer& counted = found == layers_.end() ? other_ : found->second;
  counted.bytes = AddUpTo(counted.bytes, bytes);
  ++counted.entries;
}

Json LayerSizes::Largest(size_t most) const {
  using Named = std::pair<const std::string, Layer>;
  std::vector<const Named*> ordered;
  ordered.reserve(layers_.size());
  for (const Named& named : layers_) ordered.push_back(&named);
  std::sort(ordered.begin(), ordered.end(), [](const Named* a, const Named* b) {
    return std::pair(b->second.bytes, a->second.order) <
           std::pair(a->second.bytes, b->second.order);
  });
  Layer other = other_;
  for (size_t i = most; i < ordered.size(); ++i) {
    other.bytes = AddUpTo(other.bytes, ordered[i]->second.bytes);
    other.entries += ordered[i]->second.entries;
  }
  ordered.resize(std::min(most, ordered.size()));
  std::sort(ordered.begin(), ordered.end(), [](const Named* a, const Named* b) {
    return a->second.order < b->second.order;
  });
  Json layers = Json::array();
  for (const Named* named : ordered) {
    layers.push_back(
        {named->first, named->second.bytes, named->second.entries});
  }
  if (other.entries != 0) {
    layers.push_back({"(other)", other.bytes, other.entries});
  }
  return layers;
}

}  // namespace ctxfs
