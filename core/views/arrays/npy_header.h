// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/dtype.h"

namespace ctxfs {

/// Whether numpy has arrays of `dtype`; of bfloat16 it can have the bits.
bool HasNpy(DType dtype);

/// What stands before the elements in an .npy file, format 1.0, byte for byte
/// as numpy writes it: a multiple of 64 bytes. `dtype` is one that HasNpy
/// accepts. At most 32 dimensions.
std::string NpyHeader(DType dtype, const std::vector<uint64_t>& shape);

}  // namespace ctxfs
