// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/content/block.h"
#include "core/formats/graph/sjgn_cursor.h"
#include "core/io/source.h"

namespace ctxfs {

/// A section that is a stream of events.
struct SjgnSection {
  std::string name;
  bool edges = false;  // or nodes
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t events = 0;
};

/// What a table is wanted for: its events as JSON, one a line; or its ids as
/// i64, of nodes, or of edges first all they come from, then all they go to.
enum class SjgnWanted : uint8_t { kLines, kIds };

/// How many events a table has, by their lengths alone.
uint64_t CountSjgnEvents(SjgnCursor& in);

/// What is wanted of a table in `data`, under `key`. Producing it fails with
/// kCorrupt for what is no table, and for ids of what is no list of edges, or
/// nodes; with kLimit for text over limits::kCowrieText.
std::shared_ptr<const Block> DecodeSjgnTable(Key key,
                                             std::shared_ptr<const Source> data,
                                             const SjgnSection& table,
                                             SjgnWanted wanted);

}  // namespace ctxfs
