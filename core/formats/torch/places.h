// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/torch/pickle.h"

namespace ctxfs::torch {

/// The number of a place in the value of a pickle.
using PlaceId = uint32_t;
constexpr PlaceId kRootPlace = 0;
constexpr PlaceId kNoPlace = UINT32_MAX;

/// Steps with fixed names, to parts of a value that have neither a key nor an
/// index.
enum class Word : uint32_t { kAttributes, kKey, kArgs, kKwargs, kCallable };

/// The places at which a walk has met values; each is a step from its parent
/// place (docs/formats/torch.md, section 9). There can be millions, so a place
/// takes 12 bytes, and its text is rendered on demand.
class Places {
 public:
  explicit Places(const Pickle& pickle) : pickle_(pickle) {
    places_.push_back({});
  }

  PlaceId AtIndex(PlaceId parent, uint32_t index) {
    return Add(parent, Step::kIndex, index);
  }
  /// Returns the place of a dict's `position`-th entry, whose key is `key`.
  PlaceId AtEntry(PlaceId parent, NodeId key, uint32_t position);
  PlaceId AtWord(PlaceId parent, Word word) {
    return Add(parent, Step::kWord, static_cast<uint32_t>(word));
  }

  /// Returns the steps to a place, joined by '/'; empty for the root. nullopt
  /// if the path exceeds `limit` bytes or memory is refused.
  std::optional<std::string> Path(PlaceId place, uint64_t limit) const;

 private:
  enum class Step : uint8_t { kRoot, kKey, kIndex, kPosition, kWord };
  struct Place {
    PlaceId parent = kNoPlace;
    uint32_t number = 0;  // the key's node, an index, a position or a Word
    Step step = Step::kRoot;
  };

  PlaceId Add(PlaceId parent, Step step, uint32_t number) {
    // If memory is refused, the walk stops at its next check, so the result is
    // not used.
    if (!AdmitGrowth(places_)) return parent;
    places_.push_back({parent, number, step});
    return static_cast<PlaceId>(places_.size() - 1);
  }
  std::string StepText(const Place& place) const;

  const Pickle& pickle_;
  std::vector<Place> places_;
};

}  // namespace ctxfs::torch
