// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/content/content.h"

namespace ctxfs {

/// Returns the content of an fvecs, ivecs or bvecs file: before each row its
/// dimension as a little-endian 32-bit number. `elements` are rows of
/// `dimension` elements of `width` bytes, both at least 1.
Content VecsContent(const Content& elements, uint32_t dimension,
                    uint32_t width);

}  // namespace ctxfs
