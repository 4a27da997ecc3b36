// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/content/content.h"
#include "core/formats/wshard/wshard.h"

namespace ctxfs {

/// The chunks of one episode, in order.
using Chunks = std::vector<std::shared_ptr<const WShardContainer>>;

/// A lane that all chunks have, with the same dtype and the same shape of a
/// step: one after the other they are the episode's.
struct JoinedLane {
  std::string name;
  Lane lane;                      // of the whole episode
  std::vector<uint32_t> entries;  // of each chunk
};

struct Join {
  std::vector<JoinedLane> lanes;  // in the order of the first chunk
  size_t left_out = 0;            // lanes that are not the same everywhere
};

/// Finds the lanes to join. Sign bits of chunks make no whole, and what is no
/// array is of no known length in time: neither is counted.
Join JoinLanes(const Chunks& chunks);

/// The lane's bytes in all chunks, without a copy.
Result<Content> OpenJoined(const Chunks& chunks, const JoinedLane& lane,
                           const ReadContext& context);

/// i32 ticks that start anew in each chunk, counted through the episode.
class GlobalTicks final : public Transform {
 public:
  struct Piece {
    uint64_t end;    // ticks up to the end of this chunk
    uint64_t start;  // the chunk's first step within the episode
  };

  GlobalTicks(Content local, std::vector<Piece> pieces)
      : local_(std::move(local)), pieces_(std::move(pieces)) {}

  /// kLimit for a tick that i32 cannot hold.
  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  Status Verify(const ReadContext& context) const override {
    return local_.Verify(context);
  }

 private:
  Content local_;
  std::vector<Piece> pieces_;
};

}  // namespace ctxfs
