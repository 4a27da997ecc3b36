// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace ctxfs {

/// The sum, saturated at UINT64_MAX, because sizes that a container declares
/// may be false.
constexpr uint64_t AddUpTo(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/// Number of elements of an array; UINT64_MAX if there are more. Dimensions
/// whose product exceeds this before one of size 0 also yield UINT64_MAX.
inline uint64_t ElementsOf(std::span<const uint64_t> shape) {
  uint64_t product = 1;
  for (const uint64_t extent : shape) {
    if (extent != 0 && product > UINT64_MAX / extent) return UINT64_MAX;
    product *= extent;
  }
  return product;
}

}  // namespace ctxfs
