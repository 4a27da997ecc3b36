// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::vector_index {

/// Elements of a vector (docs/formats/vector_index.md, section 2).
constexpr uint64_t kMaxDimension = 1 << 20;
/// Bytes of the JSON that describes an index; writers use about 100.
constexpr uint64_t kMaxMetaBytes = limits::kMiB;

}  // namespace ctxfs::vector_index
