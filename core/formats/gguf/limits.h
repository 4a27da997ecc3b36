// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Bounds on what a GGUF file may require (docs/formats/gguf.md, section 8).
namespace ctxfs::gguf {

constexpr uint64_t kMaxPairs = 1'000'000;
constexpr uint64_t kMaxTensors = 1'000'000;

/// Levels of arrays within arrays; the outermost array is the first level.
constexpr size_t kMaxArrayDepth = 16;

/// Dimensions of one tensor that salvage tolerates, and of all tensors
/// together.
constexpr uint32_t kMaxSalvagedRank = 32;
constexpr size_t kMaxDims = 16'000'000;

/// Strings and arrays in the metadata: each has to be walked to find what
/// follows it.
constexpr uint64_t kMaxWalkedItems = 100'000'000;

/// Bytes of metadata.json.
constexpr uint64_t kMaxMetadataText = limits::kGiB;

/// Metadata that is copied into the header of views/model.safetensors.
constexpr uint64_t kMaxCopiedMetadata = limits::kMiB;

/// Files of a split model, all of which are kept open.
constexpr size_t kMaxParts = 500;

/// Faults and warnings that are kept as text.
constexpr size_t kMaxFaults = 100;

/// Tokens in a tokenizer file, merges in one, the bytes of each of the two, and
/// those of one token or merge.
constexpr uint64_t kMaxTokens = 4'000'000;
constexpr uint64_t kMaxTokenBytes = 128 * limits::kMiB;
constexpr uint64_t kLongestToken = limits::kMiB;
/// Bytes of a tokenizer.json that is made: its text is kept in memory.
constexpr uint64_t kMaxTokenizerText = 64 * limits::kMiB;

}  // namespace ctxfs::gguf
