// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

/// Limits of an .npy file (docs/formats/npy.md, section 4).
namespace ctxfs::npy {

/// Bytes of a header; nesting depth in it.
constexpr uint64_t kMaxHeader = limits::kMiB;
constexpr unsigned kMaxDepth = 32;

}  // namespace ctxfs::npy
