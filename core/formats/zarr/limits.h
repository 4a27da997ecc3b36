// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Limits of Zarr stores (docs/formats/zarr.md, section 10).
namespace ctxfs::zarr {

/// Bytes and nesting of a metadata file, and its values without attributes.
constexpr uint64_t kMaxMetadataBytes = 16 * limits::kMiB;
constexpr size_t kMaxNesting = 64;
constexpr uint64_t kMaxValues = 100'000;

/// Groups and arrays of a store, and nesting of groups.
constexpr size_t kMaxNodes = 1'000'000;
constexpr size_t kMaxDepth = 64;

constexpr size_t kMaxCodecs = 16;
/// Chunks of a shard, and shards within shards.
constexpr uint64_t kMaxInnerChunks = uint64_t{1} << 24;
constexpr size_t kMaxShardLevels = 2;

/// Bytes of all arrays of a store that no chunk has to justify, and bytes that
/// one stored byte justifies.
constexpr uint64_t kUnjustifiedBytes = 64 * limits::kGiB;
constexpr uint64_t kJustifiedPerByte = 1024;
/// A chunk counts as at least so many bytes there, because looking for its file
/// takes as long; a chunk of a shard as fewer.
constexpr uint64_t kChunkWeight = 64 * limits::kKiB;
constexpr uint64_t kInnerChunkWeight = limits::kKiB;

/// Bytes of the text of one array.
constexpr uint64_t kMaxTextBytes = 4 * limits::kGiB;

}  // namespace ctxfs::zarr
