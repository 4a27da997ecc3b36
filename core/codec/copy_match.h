// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace ctxfs {

/// Copies `length` bytes to `to` from `distance` bytes before it. If `length`
/// exceeds `distance`, the `distance` bytes before `to` repeat.
inline void CopyMatch(std::byte* to, size_t distance, size_t length) {
  const std::byte* const from = to - distance;
  if (distance >= length) {
    std::memcpy(to, from, length);
  } else {
    for (size_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

}  // namespace ctxfs
