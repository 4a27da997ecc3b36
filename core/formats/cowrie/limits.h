// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::cowrie {

/// Limits of one value (docs/formats/cowrie.md, section 6): stored bytes and
/// decompressed bytes, nesting, values, names in its dictionary, bytes of text
/// in its JSON, bytes of an integer, dimensions of a tensor, listed arrays.
constexpr uint64_t kMaxBytes = 256 * limits::kMiB;
constexpr unsigned kMaxDepth = 1000;
constexpr uint64_t kMaxValues = 4'000'000;
constexpr uint64_t kMaxNames = 1'000'000;
constexpr uint64_t kMaxText = 256 * limits::kMiB;
constexpr uint64_t kMaxBigIntBytes = 512;
constexpr uint64_t kMaxRank = 32;
constexpr size_t kMaxArrays = 65'536;

/// Limits of a stream (docs/formats/cowrie.md, section 7): records; records
/// whose arrays have a directory.
constexpr size_t kMaxRecords = 4'000'000;
constexpr size_t kMaxArrayFolders = 65'536;

}  // namespace ctxfs::cowrie
