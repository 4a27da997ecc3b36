// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/cowrie_arrays.h"
#include "core/formats/sjgn_cursor.h"

namespace ctxfs {

/// A table of a Cowrie-GNN graph, decoded: a stream of events (docs/sjgn.md,
/// section 4).
struct SjgnTable {
  std::string lines;  // the events as JSON, one a line
  /// The ends of edges, or the ids of nodes as `from`, where `listed`.
  EdgeIds ids;
  /// Why the table is no list of edges, or of nodes: empty where it is one.
  std::string unlisted;
};

/// What a table is wanted for.
enum class SjgnWanted : uint8_t { kLines, kIds };

/// All of a table, whose bytes lie at `offset`; `edges`: that it should list
/// edges, not nodes. kCorrupt; kLimit for text over limits::kCowrieText.
Result<SjgnTable> ReadSjgnTable(Bytes bytes, uint64_t offset, bool edges,
                                SjgnWanted wanted);

/// How many events a table has, by their lengths alone.
uint64_t CountSjgnEvents(SjgnCursor& in);

}  // namespace ctxfs
