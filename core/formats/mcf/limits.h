// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::mcf {

// Limits of one file (docs/formats/mcf.md, section 10).

constexpr uint32_t kMaxSections = 100'000;
constexpr uint32_t kMaxTensors = 1'000'000;
/// Dims of all tensors together. One tensor may have all of them: MCF does not
/// limit the rank, and golden/mcf/high_rank.mcf exceeds the limit of other
/// formats (limits::kArrayRank).
constexpr uint64_t kMaxDims = 16'000'000;
/// Bytes of the section ModelInfo.
constexpr uint64_t kMaxModelInfoBytes = 16 * limits::kMiB;

}  // namespace ctxfs::mcf
