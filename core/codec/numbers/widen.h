// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/base/bytes.h"
#include "core/base/dtype.h"

namespace ctxfs {

/// Converts the first to.size() little-endian elements of `from` to float32:
/// exact for 8- and 16-bit floats and integers, rounded to nearest for wider
/// types. Every NaN of an 8-bit float becomes 0x7FC00000. Does nothing for
/// complex numbers and floats of fewer than 8 bits.
void WidenToFloat(DType dtype, Bytes from, std::span<float> to);

}  // namespace ctxfs
