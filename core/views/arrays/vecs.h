// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/content/content.h"

namespace ctxfs {

/// Rows with their dimension before each, a little-endian 32-bit number: the
/// fvecs, ivecs and bvecs of nearest-neighbour benchmarks. `elements` are rows
/// of `dimension` elements of `width` bytes, at least one.
Content VecsContent(const Content& elements, uint32_t dimension,
                    uint32_t width);

}  // namespace ctxfs
