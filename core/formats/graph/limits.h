// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::graph {

// Limits of a graph (docs/formats/sjgn.md, section 5).

constexpr uint64_t kMaxSections = 65'536;
/// Bytes of a table, and of a compressed graph before and after decompression,
/// because both are decoded in memory.
constexpr uint64_t kMaxBytes = 256 * limits::kMiB;

}  // namespace ctxfs::graph
