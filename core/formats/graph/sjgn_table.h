// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/content/block.h"
#include "core/content/read_context.h"
#include "core/formats/graph/sjgn_cursor.h"
#include "core/io/source.h"

namespace ctxfs::graph {

/// A stream of events: a table of nodes or edges.
struct SjgnSection {
  std::string name;
  bool edges = false;  // false: nodes
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t events = 0;
  uint64_t largest_event = 0;  // bytes
  uint64_t longest_name = 0;   // bytes, over all dictionaries
};

/// The part of a table to decode. kLines: events as JSON, one per line. kIds:
/// ids as i64; for edges, all sources, then all targets.
enum class SjgnWanted : uint8_t { kLines, kIds };

/// Counts the events of `table` and finds the maximum sizes of events and
/// names. Reads only lengths. Faults and interrupts make `in` fail.
void MeasureSjgnTable(SjgnCursor& in, const ReadContext& context,
                      SjgnSection& table);

/// Returns a block of the `wanted` part of a table in `data`; `key` is its
/// cache key. Producing the block fails with kCorrupt if the section is not a
/// table, or for kIds not a list of edges or nodes. It fails with kLimit for
/// events of more than cowrie::kMaxText bytes of text (with kCorrupt if only
/// the names that they repeat exceed that), and for more than
/// limits::kDecodedBytes of JSON.
std::shared_ptr<const Block> DecodeSjgnTable(Key key,
                                             std::shared_ptr<const Source> data,
                                             const SjgnSection& table,
                                             SjgnWanted wanted);

}  // namespace ctxfs::graph
