// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs::cvc {

/// Chunks of a vector collection, columns it names, parts of columns that its
/// chunks hold, and values of its sections' metadata (docs/formats/cvc.md,
/// section 5).
constexpr uint32_t kMaxChunks = 1'000'000;
constexpr uint32_t kMaxColumns = 65'536;
constexpr uint32_t kMaxPieces = 4'000'000;
constexpr uint32_t kMaxLabels = 100'000;
/// Files that sections are shown as.
constexpr uint64_t kMaxSectionFiles = 1'000'000;

}  // namespace ctxfs::cvc
