// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::graph {

/// Sections of a graph; bytes of a table, and of a compressed graph before and
/// after decompression. Tables and compressed graphs are decoded in memory
/// (docs/formats/sjgn.md, section 5).
constexpr uint64_t kMaxSections = 65'536;
constexpr uint64_t kMaxBytes = 256 * limits::kMiB;

}  // namespace ctxfs::graph
