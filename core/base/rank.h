// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace ctxfs::limits {

/// Dimensions of an array in any format: as many as numpy and torch have.
constexpr size_t kArrayRank = 64;

}  // namespace ctxfs::limits
