// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace ctxfs::limits {

/// Maximum dimensions of an array in any format, as in numpy and torch.
constexpr size_t kArrayRank = 64;

}  // namespace ctxfs::limits
