// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Bounds on what a PyTorch checkpoint may require (docs/formats/torch.md,
/// sections 4, 6, 8, 12 and 13).
namespace ctxfs::torch {

/// Bytes of one pickle. If the record is compressed, the pickle may also not
/// exceed kMaxInflated plus kMaxInflatedPerByte for each stored byte; torch
/// does not compress pickles.
constexpr uint64_t kMaxPickleBytes = 256 * limits::kMiB;
constexpr uint64_t kMaxInflated = 64 * limits::kKiB;
constexpr uint64_t kMaxInflatedPerByte = 32;
/// Maximum of each of these, separately: values in a pickle, children of all
/// its containers together, values on its stack, and values in its memo.
constexpr uint32_t kMaxNodes = 16'000'000;
/// Maximum nesting depth of values.
constexpr unsigned kMaxDepth = 1000;
/// Bytes of a module's name; also of a name in a module.
constexpr uint64_t kMaxNameBytes = 64 * limits::kKiB;
/// Bytes of all names together.
constexpr uint64_t kMaxNamesBytes = 64 * limits::kMiB;
/// Bytes of an integer.
constexpr uint64_t kMaxIntegerBytes = 4096;
/// Bytes of a storage's key; writers use numbers of at most 20 digits. Each
/// visit of a tensor copies the key, while the pickle may store it only once.
constexpr uint64_t kMaxKeyBytes = 256;
/// Different names that are listed.
constexpr size_t kMaxGlobals = 10'000;
/// Bytes of a listed name.
constexpr size_t kMaxListedName = 1024;
/// Different names of one GlobalNames::Kind that are counted besides the listed
/// ones.
constexpr size_t kMaxCounted = 1'000'000;
/// Records of an archive that are searched for names.
constexpr size_t kMaxPickleRecords = 16;
/// Bytes of all records that are searched for names.
constexpr uint64_t kMaxSearchedBytes = 2 * kMaxPickleBytes;

/// Visits of values in one walk. A shared value is visited at each of its
/// places, even if only a reference to the first is written there.
constexpr uint64_t kMaxVisits = 2ULL * kMaxNodes;
/// Bytes of value.json.
constexpr uint64_t kMaxValueText = 64 * limits::kMiB;
/// Bytes of a value.json that stays in memory.
constexpr uint64_t kMaxKeptText = limits::kMiB;

/// Tensors of a checkpoint.
constexpr uint32_t kMaxTensors = 1'000'000;
/// Bytes of the names of all tensors.
constexpr uint64_t kMaxTensorNames = limits::kTreeNameBytes;
/// Dimensions of a tensor.
constexpr size_t kMaxRank = 64;
/// Bytes of a tensor that is larger than its storage, for example after
/// expand().
constexpr uint64_t kMaxExpanded = limits::kGiB;

/// Bytes by which all tensors together may repeat storages: kMaxRepeated, plus
/// kMaxRepeatedPerByte for each byte of the file.
constexpr uint64_t kMaxRepeated = 4 * limits::kGiB;
constexpr uint64_t kMaxRepeatedPerByte = 16;

// Limits of a distributed checkpoint.

/// Pieces in all files together.
constexpr uint32_t kMaxPieces = 1'000'000;
/// Chunks of one tensor.
constexpr uint32_t kMaxChunks = 65'536;
constexpr size_t kMaxFiles = 4096;
/// Bytes of the name of a file; also of the path of a tensor.
constexpr size_t kMaxFileName = 4096;
/// Comparisons between chunks of all tensors together.
constexpr uint64_t kMaxCompared = 200'000'000;
/// Tensors of unknown types: each requires opening a piece to find its size.
constexpr uint32_t kMaxMeasured = 4096;
/// Objects that are searched for names.
constexpr size_t kMaxSearchedObjects = 1000;

/// Bytes of the record `version`, and of the record `byteorder`.
constexpr uint64_t kMaxRecordText = 64;

// Opcodes between two interrupt checks.
constexpr uint32_t kOpcodesPerCheck = 16'384;

}  // namespace ctxfs::torch
