// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/content/content.h"
#include "core/formats/wshard/wshard.h"

namespace ctxfs::wshard {

using Chunks = std::vector<std::shared_ptr<const WShardContainer>>;

/// A lane that all chunks have, with equal dtype and equal shape of a step. The
/// episode's lane is the concatenation of its parts.
struct JoinedLane {
  std::string name;
  Lane lane;                      // of the whole episode
  std::vector<uint32_t> entries;  // one in each chunk
};

struct Join {
  std::vector<JoinedLane> lanes;             // in the order of the first chunk
  std::set<std::string, std::less<>> names;  // of `lanes`
  size_t left_out = 0;  // lanes of some chunks, or too many
};

/// Finds the lanes to join. Skips, without counting them in `left_out`:
/// residuals, because sign bits of chunks do not align; and entries that are
/// not arrays, because their number of steps is unknown.
Join JoinLanes(const Chunks& chunks);

/// The i32 ticks of a joined episode: the ticks of each chunk, with the chunk's
/// start added to each tick.
class GlobalTicks final : public Transform {
 public:
  struct Piece {
    uint64_t end;    // steps up to the end of this chunk
    uint64_t start;  // the chunk's first step in the episode
  };

  GlobalTicks(Content local, std::vector<Piece> pieces)
      : local_(std::move(local)), pieces_(std::move(pieces)) {}

  /// Fails with kLimit for a tick over 2^31 - 1.
  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  Status Verify(const ReadContext& context) const override {
    return local_.Verify(context);
  }

 private:
  Content local_;
  std::vector<Piece> pieces_;
};

}  // namespace ctxfs::wshard
