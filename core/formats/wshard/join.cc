// SPDX-License-Identifier: Apache-2.0
#include "core/formats/wshard/join.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "core/formats/wshard/limits.h"

namespace ctxfs::wshard {
namespace {

constexpr std::string_view kTicks = "time/ticks";
constexpr size_t kTickSize = 4;

struct ChunkLane {
  uint32_t entry;
  Lane lane;
};
using ChunkLanes = std::map<std::string_view, ChunkLane>;

/// Returns the lanes of a chunk that may be joined; of lanes with equal names,
/// only the first.
ChunkLanes LanesOf(const WShardContainer& chunk) {
  ChunkLanes lanes;
  for (uint32_t i = 0; i < chunk.entry_count(); ++i) {
    const std::string_view name = chunk.EntryName(i).value_or("");
    if (name.starts_with("meta/") || name.starts_with("residual/")) continue;
    std::optional<Lane> lane = chunk.LaneOf(i);
    if (!lane) continue;
    if (lane->shape[0] != chunk.length()) continue;
    // Joining adds to the ticks, so they must be i32 [T].
    if (name == kTicks &&
        (lane->dtype != DType::kI32 || lane->shape.size() != 1)) {
      continue;
    }
    lanes.try_emplace(name, ChunkLane{i, *std::move(lane)});
  }
  return lanes;
}

bool SameStep(const Lane& a, const Lane& b) {
  return a.dtype == b.dtype && std::equal(a.shape.begin() + 1, a.shape.end(),
                                          b.shape.begin() + 1, b.shape.end());
}

}  // namespace

Join JoinLanes(const Chunks& chunks) {
  Join join;
  if (chunks.empty()) return join;
  const WShardContainer& first = *chunks[0];
  ChunkLanes lanes = LanesOf(first);
  std::map<std::string_view, JoinedLane> joined;
  for (auto& [name, own] : lanes) {
    joined.emplace(
        name, JoinedLane{std::string(name), std::move(own.lane), {own.entry}});
  }
  std::set<std::string, std::less<>> later;  // that the first chunk lacks
  for (size_t k = 1; k < chunks.size(); ++k) {
    const ChunkLanes others = LanesOf(*chunks[k]);
    for (const auto& [name, lane] : others) {
      if (!lanes.contains(name)) later.emplace(name);
    }
    for (auto it = joined.begin(); it != joined.end();) {
      const auto other = others.find(it->first);
      if (other == others.end() ||
          !SameStep(it->second.lane, other->second.lane)) {
        ++join.left_out;
        it = joined.erase(it);
        continue;
      }
      JoinedLane& lane = it->second;
      lane.lane.shape[0] += other->second.lane.shape[0];
      lane.lane.guess = lane.lane.guess || other->second.lane.guess;
      lane.entries.push_back(other->second.entry);
      ++it;
    }
  }
  join.left_out += later.size();
  for (auto& [name, lane] : joined) join.lanes.push_back(std::move(lane));
  std::sort(join.lanes.begin(), join.lanes.end(),
            [](const JoinedLane& a, const JoinedLane& b) {
              return a.entries[0] < b.entries[0];
            });
  if (join.lanes.size() > kMaxDerivedFiles) {
    join.left_out += join.lanes.size() - kMaxDerivedFiles;
    join.lanes.resize(kMaxDerivedFiles);
  }
  for (const JoinedLane& lane : join.lanes) join.names.insert(lane.name);
  return join;
}

Status GlobalTicks::Compute(uint64_t offset, MutableBytes out,
                            const ReadContext& context) const {
  // A window may begin and end within a tick.
  uint64_t tick = offset / kTickSize;
  const size_t skip = offset % kTickSize;
  const size_t count = (skip + out.size() + kTickSize - 1) / kTickSize;
  Buffer ticks(count * kTickSize);
  CTXFS_TRY(ReadInto(local_, tick * kTickSize, ticks.span(), context));
  auto piece = std::ranges::upper_bound(pieces_, tick, {}, &Piece::end);
  for (size_t at = 0; at < ticks.size(); at += kTickSize) {
    while (tick >= piece->end) ++piece;
    const auto local =
        static_cast<int32_t>(LoadLe<uint32_t>(ticks.data() + at));
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
    if (piece->start > static_cast<uint64_t>(kMax) ||
        static_cast<int64_t>(piece->start) + local > kMax) {
      return Error{Code::kLimit,
                   fmt::format("step {}: its tick is over 2^31 - 1", tick)};
    }
    StoreLe(static_cast<uint32_t>(static_cast<int64_t>(piece->start) + local),
            ticks.data() + at);
    ++tick;
  }
  std::copy_n(ticks.data() + skip, out.size(), out.data());
  return {};
}

}  // namespace ctxfs::wshard
