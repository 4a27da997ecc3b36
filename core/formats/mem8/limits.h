// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::mem8 {

/// Bytes of a .mem8, stored and unpacked; its sections; text that a JSON view
/// of it may repeat (docs/formats/mem8.md, section 6).
constexpr uint64_t kMaxBytes = 64 * limits::kMiB;
constexpr uint32_t kMaxSections = 4096;
constexpr uint64_t kMaxJsonBytes = 64 * limits::kMiB;

}  // namespace ctxfs::mem8
