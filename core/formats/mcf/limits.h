// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::mcf {

/// Limits of one file (docs/formats/mcf.md, section 10): sections, tensors,
/// dims of all tensors together, and bytes of ModelInfo. One tensor may have
/// all dims: MCF does not limit the rank, and golden/mcf/high_rank.mcf exceeds
/// the limit of other formats (limits::kArrayRank).
constexpr uint32_t kMaxSections = 100'000;
constexpr uint32_t kMaxTensors = 1'000'000;
constexpr uint64_t kMaxDims = 16'000'000;
constexpr uint64_t kMaxModelInfoBytes = 16 * limits::kMiB;

}  // namespace ctxfs::mcf
