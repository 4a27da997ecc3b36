// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs::manifest {

/// Files that a manifest may name (docs/formats/manifest.md, section 4).
constexpr uint64_t kMaxFiles = 100'000;

}  // namespace ctxfs::manifest
