// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::wshard {

// Limits of an episode (docs/formats/wshard.md, section 8).

/// Decoded bytes of a metadata entry, which opening an episode reads.
constexpr uint64_t kMaxJsonBytes = 16 * limits::kMiB;
/// Bytes of a channel's id.
constexpr size_t kMaxChannelIdBytes = 1024;
/// Files of an episode besides its entries.
constexpr size_t kMaxDerivedFiles = 100'000;
/// Chunks of one episode, an open file each.
constexpr size_t kMaxChunks = 500;

}  // namespace ctxfs::wshard
