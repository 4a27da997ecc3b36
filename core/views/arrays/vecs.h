// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/content/content.h"

namespace ctxfs {

/// Returns an fvecs, ivecs or bvecs file: each row is preceded by its
/// dimension, a little-endian 32-bit number. `elements` holds rows of
/// `dimension` elements of `width` bytes, both at least 1.
Content VecsContent(const Content& elements, uint32_t dimension,
                    uint32_t width);

}  // namespace ctxfs
