// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/content/content.h"
#include "core/formats/column_shard/chunk.h"

namespace ctxfs::column_shard {

/// Returns the values of a chunk that expands few bytes to many rows: runs of
/// booleans, or deltas of 0 bits (first + row * step). Any window is computed
/// from those bytes, so a chunk of 22 bytes never takes the 256 MiB of its
/// values. Returns null for other or damaged chunks.
///
/// `chunk` must be parsed from `payload`, the bytes of `block`. The block is
/// read again when its bytes are needed.
std::shared_ptr<const Transform> RepeatedValues(
    const Chunk& chunk, Bytes payload, std::shared_ptr<const Block> block);

}  // namespace ctxfs::column_shard
