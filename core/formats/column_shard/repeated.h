// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/content/content.h"
#include "core/formats/column_shard/chunk.h"

namespace ctxfs {

/// The values of a chunk whose few bytes stand for many rows: runs of booleans,
/// and deltas of no bits, which are first + row * step. Any window of them is
/// computed from those bytes, so that a chunk of 22 bytes never takes the
/// 256 MiB that its values do. Null for other chunks and for damaged ones.
///
/// `payload` are the bytes of `block` that `chunk` was parsed from; the block
/// is read again where they are needed.
std::shared_ptr<const Transform> RepeatedValues(
    const Chunk& chunk, Bytes payload, std::shared_ptr<const Block> block);

}  // namespace ctxfs
