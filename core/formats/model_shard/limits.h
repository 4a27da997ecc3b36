// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::model_shard {

// Limits of deltas (docs/formats/conventions.md, section 2).

/// Deltas in a chain, each of which is the base of the next.
constexpr unsigned kMaxDeltaDepth = 8;
/// Files that the deltas of a container name.
constexpr size_t kMaxBaseFiles = 16;
/// Elements of the matrix `a` of a LoRA. Each read needs the whole matrix.
constexpr uint64_t kMaxLoraElements = 64 * limits::kMiB;

/// Entries of a GraphShard that are examined for being a graph
/// (docs/formats/sjgn.md, section 4).
constexpr uint32_t kMaxGraphsSought = 1024;

}  // namespace ctxfs::model_shard
