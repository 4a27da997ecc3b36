// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::mem8 {

// Limits of a .mem8 (docs/formats/mem8.md, section 6).

/// Bytes of a file as stored; also its decompressed bytes.
constexpr uint64_t kMaxBytes = 64 * limits::kMiB;
constexpr uint32_t kMaxSections = 4096;
/// Bytes of text in one JSON view, where several fields may repeat the same
/// string.
constexpr uint64_t kMaxJsonBytes = 64 * limits::kMiB;

}  // namespace ctxfs::mem8
