// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::megacontext {

// Limits of a tree (docs/formats/megacontext.md, section 6).

constexpr size_t kMaxLevels = 64;
constexpr size_t kMaxSnapshots = 10'000;
/// Bytes of metadata.json.
constexpr uint64_t kMaxMetadataBytes = 16 * limits::kMiB;

}  // namespace ctxfs::megacontext
