// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::cowrie {

// Limits of one value (docs/formats/cowrie.md, section 6).

/// Bytes of a value as stored; also its decompressed bytes.
constexpr uint64_t kMaxBytes = 256 * limits::kMiB;
/// Nesting depth.
constexpr unsigned kMaxDepth = 1000;
constexpr uint64_t kMaxValues = 4'000'000;
/// Names in the dictionary of the value.
constexpr uint64_t kMaxNames = 1'000'000;
/// Bytes of text in the JSON of the value.
constexpr uint64_t kMaxText = 256 * limits::kMiB;
/// Bytes of one integer.
constexpr uint64_t kMaxBigIntBytes = 512;
/// Dimensions of a tensor.
constexpr uint64_t kMaxRank = 32;
/// Arrays that are shown as files; further arrays are left out.
constexpr size_t kMaxArrays = 65'536;

// Limits of a stream (docs/formats/cowrie.md, section 7).

constexpr size_t kMaxRecords = 4'000'000;
/// Records whose arrays have a directory.
constexpr size_t kMaxArrayFolders = 65'536;

}  // namespace ctxfs::cowrie
