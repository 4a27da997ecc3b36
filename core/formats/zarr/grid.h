// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/result.h"

/// Walks through arrays that are divided into boxes.
namespace ctxfs::zarr {

/// A number for each dimension: a shape, or the indices of an element or chunk.
using Indices = std::vector<uint64_t>;

/// Calls use(index) for each index from `first` to before `end`, in row-major
/// order.
template <typename Use>
Status ForEachIndex(const Indices& first, const Indices& end, const Use& use) {
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] >= end[i]) return {};
  }
  Indices index = first;
  while (true) {
    CTXFS_TRY(use(std::as_const(index)));
    size_t i = index.size();
    while (i > 0 && ++index[i - 1] == end[i - 1]) {
      --i;
      index[i] = first[i];
    }
    if (i == 0) return {};
  }
}

/// The elements from `first` to before `end` in each dimension.
struct Box {
  Indices first;
  Indices end;
};

/// The places of elements in bytes: the element at index i is
/// (i - origin) * strides bytes from the start.
struct Layout {
  Indices origin;
  Indices strides;
};

/// Calls use(at_a, at_b, length) for each run of bytes of a box that is
/// contiguous in both layouts. The elements must be bytes, so larger elements
/// need a last dimension for their bytes.
template <typename Use>
Status ForEachRun(const Box& box, const Layout& a, const Layout& b,
                  const Use& use) {
  size_t outer = box.first.size() - 1;
  uint64_t length = box.end[outer] - box.first[outer];
  while (outer > 0 && a.strides[outer - 1] == length &&
         b.strides[outer - 1] == length) {
    --outer;
    length *= box.end[outer] - box.first[outer];
  }
  const auto head = [outer](const Indices& all) {
    return Indices(all.begin(), all.begin() + static_cast<ptrdiff_t>(outer));
  };
  return ForEachIndex(head(box.first), head(box.end), [&](const Indices& at) {
    uint64_t in_a = 0;
    uint64_t in_b = 0;
    for (size_t i = 0; i < box.first.size(); ++i) {
      const uint64_t index = i < outer ? at[i] : box.first[i];
      in_a += (index - a.origin[i]) * a.strides[i];
      in_b += (index - b.origin[i]) * b.strides[i];
    }
    return use(in_a, in_b, length);
  });
}

}  // namespace ctxfs::zarr
