// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/places.h"

#include <array>

#include "core/formats/torch/dict_entries.h"

namespace ctxfs::torch {
namespace {

// Indexed by Word.
constexpr std::array<const char*, 5> kWords = {"$attrs", "key", "args",
                                               "kwargs", "callable"};

}  // namespace

PlaceId Places::AtEntry(PlaceId parent, NodeId key, uint32_t position) {
  return IsPlainKey(pickle_, key) ? Add(parent, Step::kKey, key)
                                  : Add(parent, Step::kPosition, position);
}

std::string Places::StepText(const Place& place) const {
  switch (place.step) {
    case Step::kRoot:
      break;
    case Step::kKey:
      return KeyText(pickle_, place.number);
    case Step::kIndex:
      return std::to_string(place.number);
    case Step::kPosition:
      return "#" + std::to_string(place.number);
    case Step::kWord:
      return kWords[place.number];
  }
  return {};
}

std::optional<std::string> Places::Path(PlaceId place, uint64_t limit) const {
  std::vector<std::string> steps;
  uint64_t size = 0;
  for (; place != kRootPlace; place = places_[place].parent) {
    const Place& step = places_[place];
    const bool is_text =
        step.step == Step::kKey && pickle_.Is(step.number, Node::Kind::kText);
    if (is_text && !HeapAllowance::Admit(pickle_.Text(step.number).size())) {
      return std::nullopt;
    }
    steps.push_back(StepText(step));
    size += steps.back().size() + 1;
    if (size > limit) return std::nullopt;
  }
  if (!HeapAllowance::Admit(size)) return std::nullopt;
  std::string path;
  path.reserve(static_cast<size_t>(size));
  for (size_t i = steps.size(); i-- > 0;) {
    path += steps[i];
    if (i > 0) path += '/';
  }
  return path;
}

}  // namespace ctxfs::torch
