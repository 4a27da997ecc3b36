// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Bounds on what a GGUF file may require (docs/formats/gguf.md, section 8).
namespace ctxfs::gguf {

constexpr uint64_t kMaxPairs = 1'000'000;
constexpr uint64_t kMaxTensors = 1'000'000;

/// Nesting depth of arrays; the outermost array has depth 1.
constexpr size_t kMaxArrayDepth = 16;

/// Dimensions of a tensor that salvage accepts; without it, 4 are the maximum.
constexpr uint32_t kMaxSalvagedRank = 32;
/// Dimensions of all tensors together.
constexpr size_t kMaxDims = 16'000'000;

/// Strings and arrays in the metadata: the header has no index, so each must be
/// walked to find the next value.
constexpr uint64_t kMaxWalkedItems = 100'000'000;

constexpr uint64_t kMaxMetadataText = limits::kGiB;

/// Maximum bytes of the scalar pairs, and maximum bytes of metadata.json, that
/// are copied into the header of views/model.safetensors.
constexpr uint64_t kMaxCopiedMetadata = limits::kMiB;

/// Files of a split model; all stay open.
constexpr size_t kMaxParts = 500;

/// Faults of one header, and warnings about a split, that are reported as text.
constexpr size_t kMaxFaults = 100;

// Limits of a tokenizer file.

/// Tokens of a tokenizer; also its merges.
constexpr uint64_t kMaxTokens = 4'000'000;
/// Bytes of all tokens together; also of all merges together.
constexpr uint64_t kMaxTokenBytes = 128 * limits::kMiB;
/// Bytes of one token or merge.
constexpr uint64_t kLongestToken = limits::kMiB;
/// Bytes of a generated tokenizer.json: its text stays in memory.
constexpr uint64_t kMaxTokenizerText = 64 * limits::kMiB;

}  // namespace ctxfs::gguf
