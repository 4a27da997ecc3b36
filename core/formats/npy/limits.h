// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

/// Limits of an .npy file (docs/formats/npy.md, section 4).
namespace ctxfs::npy {

/// Bytes of a header.
constexpr uint64_t kMaxHeader = limits::kMiB;
/// Nesting depth of lists and tuples in a header.
constexpr unsigned kMaxDepth = 32;

}  // namespace ctxfs::npy
