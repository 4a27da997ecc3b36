// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Bounds on what a PyTorch checkpoint may require (docs/formats/torch.md,
/// sections 4 and 8).
namespace ctxfs::torch {

/// Bytes of one pickle; of one in a record kMaxInflated, too, and
/// kMaxInflatedPerByte for each stored byte. torch compresses none.
constexpr uint64_t kMaxPickleBytes = 256 * limits::kMiB;
constexpr uint64_t kMaxInflated = 64 * limits::kKiB;
constexpr uint64_t kMaxInflatedPerByte = 32;
/// Values in a pickle, which are also the most that its lists have together,
/// that its stack holds and that its memo holds; nesting.
constexpr uint32_t kMaxNodes = 16'000'000;
constexpr unsigned kMaxDepth = 1000;
/// Bytes of a module or class name, of all of them together, and of an integer.
constexpr uint64_t kMaxNameBytes = 64 * limits::kKiB;
constexpr uint64_t kMaxNamesBytes = 64 * limits::kMiB;
constexpr uint64_t kMaxIntegerBytes = 4096;
/// Bytes of a storage's key: writers have numbers of at most 20 digits. A key
/// is copied at each look at a tensor, which the pickle need not repeat.
constexpr uint64_t kMaxKeyBytes = 256;
/// Different names that are listed, and bytes of each.
constexpr size_t kMaxGlobals = 10'000;
constexpr size_t kMaxListedName = 1024;
/// Different names that are counted beside the listed ones.
constexpr size_t kMaxCounted = 1'000'000;
/// Records of an archive that are searched for names, and their bytes.
constexpr size_t kMaxPickleRecords = 16;
constexpr uint64_t kMaxSearchedBytes = 2 * kMaxPickleBytes;

/// Values that are looked at, those in shared lists at each of their places.
constexpr uint64_t kMaxVisits = 2ULL * kMaxNodes;
/// Bytes of value.json; of one that is kept in memory.
constexpr uint64_t kMaxValueText = 64 * limits::kMiB;
constexpr uint64_t kMaxKeptText = limits::kMiB;

/// Tensors of a checkpoint, and bytes of their names.
constexpr uint32_t kMaxTensors = 1'000'000;
constexpr uint64_t kMaxTensorNames = limits::kTreeNameBytes;
constexpr size_t kMaxRank = 64;
/// Bytes of a tensor that is larger than its storage, as expand makes one.
constexpr uint64_t kMaxExpanded = limits::kGiB;

/// Bytes by which all tensors together may show storages more than once: at
/// most kMaxRepeated, plus kMaxRepeatedPerByte for each byte of the file.
constexpr uint64_t kMaxRepeated = 4 * limits::kGiB;
constexpr uint64_t kMaxRepeatedPerByte = 16;

/// Limits of a distributed checkpoint: parts in its files, parts of one tensor,
/// files, bytes of a name, and comparisons of the parts of all tensors.
constexpr uint32_t kMaxPieces = 1'000'000;
constexpr uint32_t kMaxChunks = 65'536;
constexpr size_t kMaxFiles = 4096;
constexpr size_t kMaxFileName = 4096;
constexpr uint64_t kMaxCompared = 200'000'000;
/// Tensors of unknown types, whose sizes only their pieces tell.
constexpr uint32_t kMaxMeasured = 4096;
/// Objects that are searched for names.
constexpr size_t kMaxSearchedObjects = 1000;

/// Bytes of the records version and byteorder.
constexpr uint64_t kMaxRecordText = 64;

// Opcodes between two checks of the interrupt.
constexpr uint32_t kOpcodesPerCheck = 16'384;

}  // namespace ctxfs::torch
