// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::mcf {

/// Sections, tensors, and dims of all tensors together, of one file, and bytes
/// of its ModelInfo (docs/mcf.md, section 10).
constexpr uint32_t kMostSections = 100'000;
constexpr uint32_t kMostTensors = 1'000'000;
constexpr uint64_t kMostDims = 16'000'000;
constexpr uint64_t kMostModelInfoBytes = 16 * limits::kMiB;

}  // namespace ctxfs::mcf
