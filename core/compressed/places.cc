// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/compressed/decoder.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxBytes = 32 * limits::kMiB;

uint64_t BytesOf(const Place& place) {
  return sizeof(Place) + place.state.size();
}

}  // namespace

Status Places::Add(Place place) {
  CTXFS_TRY(AdmitGrowth(places_));
  bytes_ += BytesOf(place);
  places_.push_back(std::move(place));
  if (bytes_ > kMaxBytes) ThinOut();
  return {};
}

void Places::ThinOut() {
  spacing_ *= 2;
  std::vector<Place> kept;
  bytes_ = 0;
  for (Place& place : places_) {
    if (!kept.empty() && place.decoded - kept.back().decoded < spacing_) {
      continue;
    }
    bytes_ += BytesOf(place);
    kept.push_back(std::move(place));
  }
  places_ = std::move(kept);
}

}  // namespace ctxfs
