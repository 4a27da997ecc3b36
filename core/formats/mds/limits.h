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
/// Samples of all shards: files of a numbered directory have 32 bits.
constexpr uint64_t kMaxSamples = UINT32_MAX - 1;
constexpr size_t kMaxRank = 63;
/// Items of a list, each of which is a file of a directory.
constexpr uint32_t kMaxItems = 1'000'000;

/// Bytes of a decoded shard. Besides, promise 8 of docs/tree.md.
constexpr uint64_t kMaxDecoded = 4 * limits::kGiB;
/// A column of `bytes` is named by its first samples, and by a compressed shard
/// only if that decodes to at most so many bytes.
constexpr uint32_t kNamingSamples = 1000;
constexpr uint64_t kNamingBytes = 256 * limits::kMiB;

/// Files of shards that stay open.
constexpr size_t kOpenFiles = 64;
/// Warnings of single shards.
constexpr size_t kMaxWarnings = 1000;

/// Samples between two interrupt checks, and in a block of samples.jsonl.
constexpr uint32_t kSamplesPerCheck = 1024;
constexpr uint32_t kSamplesPerBlock = 256;
constexpr uint64_t kMaxBlocks = 65'536;
/// Bytes of a value that samples.jsonl shows as text although its column is
/// binary.
constexpr uint64_t kMaxShownBytes = 4096;

}  // namespace ctxfs::mds
