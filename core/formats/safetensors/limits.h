// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of a safetensors file or index (docs/formats/safetensors.md, section
/// 10). limits::kSafetensorsHeaderBytes bounds the header.
namespace ctxfs::safetensors {

/// Nesting depth of a header, as in safetensors' own library.
constexpr size_t kMaxDepth = 127;

/// Dimensions of all tensors of one file together.
constexpr size_t kMaxDims = 16'000'000;

/// Faults of one file reported as text; further faults are counted.
constexpr size_t kMaxFaults = 100;

/// Bytes of an index.
constexpr uint64_t kMaxIndexBytes = 100'000'000;
/// Shards of an index that are opened. Each is an open file.
constexpr size_t kMaxShards = 500;

/// Tensors between two interrupt checks.
constexpr uint32_t kTensorsPerCheck = 16'384;

}  // namespace ctxfs::safetensors
