// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/base/bytes.h"
#include "core/base/dtype.h"

namespace ctxfs {

/// The little-endian elements of `from` as floats, as many as `to` takes:
/// exact for 8- and 16-bit floats and 8- and 16-bit integers, rounded to
/// nearest for wider ones. Every NaN of an 8-bit float becomes 0x7FC00000. Not
/// for complex numbers and floats of fewer than 8 bits.
void WidenToFloat(DType dtype, Bytes from, std::span<float> to);

}  // namespace ctxfs
