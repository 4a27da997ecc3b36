// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Limits of Zarr stores (docs/formats/zarr.md, section 10).
namespace ctxfs::zarr {

/// Bytes of a metadata file.
constexpr uint64_t kMaxMetadataBytes = 16 * limits::kMiB;
/// Nesting depth of the JSON in a metadata file.
constexpr size_t kMaxNesting = 64;
/// JSON values in a metadata file, without those in its attributes.
constexpr uint64_t kMaxValues = 100'000;

/// Groups and arrays of a store together.
constexpr size_t kMaxNodes = 1'000'000;
/// Nesting depth of groups.
constexpr size_t kMaxDepth = 64;

/// Codecs of a chain.
constexpr size_t kMaxCodecs = 16;
/// Inner chunks of a shard.
constexpr uint64_t kMaxInnerChunks = uint64_t{1} << 24;
/// Levels of shards in shards.
constexpr size_t kMaxShardLevels = 2;

/// All arrays of a store may have kUnjustifiedBytes in total, and
/// kJustifiedPerByte more for each stored byte of their chunks.
constexpr uint64_t kUnjustifiedBytes = 64 * limits::kGiB;
constexpr uint64_t kJustifiedPerByte = 1024;
/// For this limit, a chunk counts as at least kChunkWeight bytes, because
/// finding its file takes as long as reading kChunkWeight bytes. An inner chunk
/// of a shard counts as at least kInnerChunkWeight.
constexpr uint64_t kChunkWeight = 64 * limits::kKiB;
constexpr uint64_t kInnerChunkWeight = limits::kKiB;

/// Bytes of the text of one array.
constexpr uint64_t kMaxTextBytes = 4 * limits::kGiB;

}  // namespace ctxfs::zarr
