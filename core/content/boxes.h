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

/// Arrays that are stored as boxes: parts that have a range of each dimension.
namespace ctxfs {

/// A part of an array: the elements from `offsets` on, `sizes` in each
/// dimension, in row-major order.
struct Box {
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> sizes;
  Content elements;
};

/// Returns two of the boxes that have an element in common; nullopt if there
/// are none. Each box is 2 * rank of `numbers`: its offsets, then its sizes,
/// whose sums do not overflow. Subtracts the comparisons from `budget`, and
/// fails with kLimit once it is spent.
Result<std::optional<std::pair<size_t, size_t>>> FindOverlap(
    std::span<const uint64_t> numbers, size_t rank, uint64_t& budget,
    const Interrupt& interrupt);

/// The elements of an array of `shape` in row-major order, each `width` bytes.
/// The boxes have every element once, none is empty, and their bytes together
/// do not overflow. A few thousand runs of elements are that many extents; more
/// are computed.
Content BoxedContent(const std::vector<uint64_t>& shape, uint32_t width,
                     std::vector<Box> boxes);

}  // namespace ctxfs
