// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs::cvc {

// Limits of a vector collection (docs/formats/cvc.md, section 5).

constexpr uint32_t kMaxChunks = 1'000'000;
constexpr uint32_t kMaxColumns = 65'536;
/// Parts of columns in all chunks together.
constexpr uint32_t kMaxPieces = 4'000'000;
/// Values in the metadata of all sections together.
constexpr uint32_t kMaxLabels = 100'000;
/// Files in views/sections/.
constexpr uint64_t kMaxSectionFiles = 1'000'000;

}  // namespace ctxfs::cvc
