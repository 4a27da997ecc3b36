// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/content/content.h"

/// Arrays that are stored as boxes, each a range of every dimension.
namespace ctxfs {

/// A part of an array: `sizes` elements from `offsets` on, in each dimension,
/// in row-major order.
struct Box {
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> sizes;
  Content elements;
};

/// Returns two boxes that share an element; nullopt if there are none. Each box
/// takes 2 * rank of `numbers`: its offsets, then its sizes. The sum of an
/// offset and its size must not overflow. Subtracts the number of `numbers` and
/// of comparisons from `budget`, and fails with kLimit once it is exhausted.
Result<std::optional<std::pair<size_t, size_t>>> FindOverlap(
    std::span<const uint64_t> numbers, size_t rank, uint64_t& budget,
    const Interrupt& interrupt);

/// The elements of an array of `shape` in row-major order, each `width` bytes.
/// The boxes must cover every element exactly once; none may be empty, and
/// their total size must not overflow. If the boxes have at most a few thousand
/// runs of elements, each run becomes an extent. Otherwise the bytes are
/// computed.
Content BoxedContent(const std::vector<uint64_t>& shape, uint32_t width,
                     std::vector<Box> boxes);

}  // namespace ctxfs
