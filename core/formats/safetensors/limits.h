// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds on what a safetensors file or index may require
/// (docs/formats/safetensors.md, section 10). The header itself has
/// limits::kSafetensorsHeaderBytes.
namespace ctxfs::safetensors {

/// Levels of objects and arrays in a header, the outer object among them: the
/// same bound that the format's own library has.
constexpr size_t kMaxDepth = 127;

/// Dimensions of all tensors of one file together.
constexpr size_t kMaxDims = 16'000'000;

/// Faults of one file that are kept as text; further ones are only counted.
constexpr size_t kMaxFaults = 100;

/// Bytes of an index of shards, and shards that are opened for one: each is an
/// open file.
constexpr uint64_t kMaxIndexBytes = 100'000'000;
constexpr size_t kMaxShards = 500;

/// Tensors between two checks of the interrupt.
constexpr uint32_t kTensorsPerCheck = 16'384;

}  // namespace ctxfs::safetensors
