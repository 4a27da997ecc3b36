// SPDX-License-Identifier: Apache-2.0
#include "core/formats/wshard/repair.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace ctxfs::wshard {

std::optional<Interleaving> Interleaving::Find(
    const std::vector<StoredLane>& lanes, uint64_t steps, uint64_t file_size) {
  if (lanes.size() < 2 || steps == 0) return std::nullopt;
  Interleaving found;
  found.steps_ = steps;
  found.start_ = lanes[0].offset;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const StoredLane& lane = lanes[i];
    if (lane.size == 0 || lane.size % steps != 0) return std::nullopt;
    const uint64_t step = lane.size / steps;
    if (i + 1 < lanes.size()) {
      const uint64_t first_run = lanes[i + 1].offset - lane.offset;
      if (i == 0) {
        if (first_run % step != 0) return std::nullopt;
        found.interval_ = first_run / step;
        // If one run had all steps, the lanes would not overlap.
        if (found.interval_ == 0 || found.interval_ >= steps) {
          return std::nullopt;
        }
      }
      // No overflow: step * interval < step * steps = size.
      if (step * found.interval_ != first_run) return std::nullopt;
    }
    found.lanes_.push_back({lane.entry, step, found.step_});
    const std::optional<uint64_t> sum = CheckedAdd(found.step_, step);
    if (!sum) return std::nullopt;
    found.step_ = *sum;
  }
  const std::optional<uint64_t> all = CheckedMul(found.step_, steps);
  if (!all || !InBounds(found.start_, *all, file_size)) return std::nullopt;

  for (uint32_t i = 0; i < lanes.size(); ++i) {
    found.by_entry_.emplace_back(lanes[i].entry, i);
  }
  std::sort(found.by_entry_.begin(), found.by_entry_.end());
  return found;
}

Interleaving::Run Interleaving::Locate(size_t index, uint64_t at) const {
  const Place& lane = lanes_[index];
  const uint64_t round = at / (lane.step * interval_);
  const uint64_t first = round * interval_;  // first step of the round
  const uint64_t steps = std::min(interval_, steps_ - first);
  const uint64_t within = at - first * lane.step;
  return {start_ + first * step_ + steps * lane.before + within,
          steps * lane.step - within};
}

std::optional<size_t> Interleaving::IndexOf(uint32_t entry) const {
  const auto found = std::lower_bound(by_entry_.begin(), by_entry_.end(),
                                      std::pair<uint32_t, uint32_t>(entry, 0));
  if (found == by_entry_.end() || found->first != entry) return std::nullopt;
  return found->second;
}

Status RepairedLane::Compute(uint64_t offset, MutableBytes out,
                             const ReadContext& context) const {
  CTXFS_TRY(Verify(context));
  while (!out.empty()) {
    const Interleaving::Run run = stored_.interleaving->Locate(index_, offset);
    const size_t length =
        static_cast<size_t>(std::min<uint64_t>(run.length, out.size()));
    CTXFS_TRY(stored_.source->ReadAt(run.offset, out.first(length), context));
    out = out.subspan(length);
    offset += length;
  }
  return {};
}

Status RepairedLane::Verify(const ReadContext& context) const {
  for (const std::shared_ptr<const ChecksumGuard>& guard : *stored_.guards) {
    CTXFS_TRY(guard->Verify(context));
  }
  return {};
}

}  // namespace ctxfs::wshard
