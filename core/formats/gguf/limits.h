// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Bounds on what a GGUF file may require (docs/gguf.md, section 8).
namespace ctxfs::limits {

constexpr uint64_t kGgufPairs = 1'000'000;
constexpr uint64_t kGgufTensors = 1'000'000;

/// Levels of arrays within arrays; the outermost array is the first level.
constexpr size_t kGgufArrayDepth = 16;

/// Dimensions of one tensor that salvage tolerates, and of all tensors
/// together.
constexpr uint32_t kGgufSalvagedRank = 32;
constexpr size_t kGgufDims = 16'000'000;

/// Strings and arrays in the metadata: each has to be walked to find what
/// follows it.
constexpr uint64_t kGgufWalkedItems = 100'000'000;

/// Bytes of metadata.json.
constexpr uint64_t kGgufMetadataText = kGiB;

/// Metadata that is copied into the header of views/model.safetensors.
constexpr uint64_t kGgufCopiedMetadata = kMiB;

/// Files of a split model, all of which are kept open.
constexpr size_t kGgufParts = 500;

/// Faults and warnings that are kept as text.
constexpr size_t kGgufFaults = 100;

/// Tokens in a tokenizer file, merges in one, the bytes of each of the two, and
/// those of one token or merge.
constexpr uint64_t kGgufTokens = 4'000'000;
constexpr uint64_t kGgufTokenBytes = 128 * kMiB;
constexpr uint64_t kGgufOneToken = kMiB;
/// Bytes of a tokenizer.json that is made: its text is kept in memory.
constexpr uint64_t kGgufTokenizerText = 64 * kMiB;

}  // namespace ctxfs::limits
