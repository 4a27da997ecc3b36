// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace ctxfs::limits {

/// Maximum dimensions of an array, as in numpy and torch, in formats without a
/// limit of their own: .npy and WShard allow fewer (kRank), MCF more.
constexpr size_t kArrayRank = 64;

}  // namespace ctxfs::limits
