// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/dtype.h"

namespace ctxfs {

/// Whether numpy can store `dtype`. True for bfloat16, too: numpy lacks it, but
/// stores its bits as uint16.
bool HasNpy(DType dtype);

/// Returns the header of an .npy file, format 1.0, byte for byte as numpy
/// writes it; its size is a multiple of 64 bytes. HasNpy must accept `dtype`,
/// and `shape` must have at most 32 dimensions.
std::string NpyHeader(DType dtype, const std::vector<uint64_t>& shape);

}  // namespace ctxfs
