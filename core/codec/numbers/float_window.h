// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

constexpr uint64_t kFloatsAtATime = 64 * 1024;

/// Fills `out` with the bytes from `offset` on of a file of floats.
/// compute(first, floats) sets `floats` to the elements [first, first +
/// floats.size()), at most kFloatsAtATime per call. The window may start and
/// end within an element.
template <typename Float = float, typename Compute>
Status FillFloats(uint64_t offset, MutableBytes out, const Compute& compute) {
  std::vector<Float> floats;
  while (!out.empty()) {
    const uint64_t first = offset / sizeof(Float);
    const uint64_t skip = offset % sizeof(Float);
    const uint64_t wanted =
        (skip + out.size() + sizeof(Float) - 1) / sizeof(Float);
    floats.resize(static_cast<size_t>(std::min(wanted, kFloatsAtATime)));
    CTXFS_TRY(compute(first, std::span<Float>(floats)));
    const size_t n = std::min<size_t>(
        out.size(), floats.size() * sizeof(Float) - static_cast<size_t>(skip));
    const Bytes made = std::as_bytes(std::span(floats));
    std::memcpy(out.data(), made.data() + skip, n);
    out = out.subspan(n);
    offset += n;
  }
  return {};
}

}  // namespace ctxfs
