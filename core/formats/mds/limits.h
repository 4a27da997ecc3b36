// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Limits of an MDS data set (docs/formats/mds.md, section 8).
namespace ctxfs::mds {

constexpr uint64_t kMaxIndexBytes = 256 * limits::kMiB;
constexpr size_t kMaxIndexDepth = 64;
constexpr size_t kMaxShards = 1'000'000;
constexpr size_t kMaxColumns = 4096;
/// Samples of all shards. The number of a file in a numbered directory has 32
/// bits.
constexpr uint64_t kMaxSamples = UINT32_MAX - 1;
constexpr size_t kMaxRank = 63;
/// Items of a list, each of which is a file of a directory.
constexpr uint32_t kMaxItems = 1'000'000;

/// Bytes of a decoded shard. Promise 8 of docs/tree.md bounds them by the size
/// of the compressed shard, too.
constexpr uint64_t kMaxDecoded = 4 * limits::kGiB;
/// The suffix of a column of encoding `bytes` is decided by at most the first
/// kNamingSamples samples, and a compressed shard is decoded for this only if
/// it decodes to at most kNamingBytes.
constexpr uint32_t kNamingSamples = 1000;
constexpr uint64_t kNamingBytes = 256 * limits::kMiB;

/// Maximum number of shard files that stay open.
constexpr size_t kOpenFiles = 64;
/// Shards that get a warning each.
constexpr size_t kMaxWarnings = 1000;

/// Samples between two interrupt checks.
constexpr uint32_t kSamplesPerCheck = 1024;
/// Samples in a block of samples.jsonl.
constexpr uint32_t kSamplesPerBlock = 256;
/// Approximate maximum number of these blocks. A data set that would have more
/// has larger blocks.
constexpr uint64_t kMaxBlocks = 65'536;
/// Bytes of a value that samples.jsonl shows as text although its column is
/// binary.
constexpr uint64_t kMaxShownBytes = 4096;

}  // namespace ctxfs::mds
