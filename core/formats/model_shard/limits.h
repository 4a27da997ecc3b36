// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::model_shard {

/// Limits of a delta (docs/formats/conventions.md, section 2): length of a
/// chain, files named by a container's deltas, and elements of a LoRA's matrix
/// a, since a read needs the whole matrix.
constexpr unsigned kMaxDeltaDepth = 8;
constexpr size_t kMaxBaseFiles = 16;
constexpr uint64_t kMaxLoraElements = 64 * limits::kMiB;

/// Entries of a GraphShard that are examined for being a graph
/// (docs/formats/sjgn.md, section 4).
constexpr uint32_t kMaxGraphsSought = 1024;

}  // namespace ctxfs::model_shard
