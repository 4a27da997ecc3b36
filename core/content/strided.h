// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/content/content.h"
#include "core/content/verdict.h"

namespace ctxfs {

/// The positions of an array's elements among stored elements of the same
/// width, and how their bytes differ from little-endian values.
struct StridedLayout {
  uint32_t width = 1;  // bytes of an element, 1 to 16
  std::vector<uint64_t> shape;
  std::vector<uint64_t> strides;  // in elements, one per dimension
  uint64_t offset = 0;            // of the first element, in elements
  /// Bytes of a unit whose byte order is reversed; 1: no reversal.
  uint32_t swap = 1;
  /// Bytes of each float in an element. If flip_first or flip_second is set,
  /// the sign of the first or second float is flipped.
  uint32_t float_width = 1;
  bool flip_first = false;
  bool flip_second = false;
};

/// Row-major strides of `shape`, whose product must not overflow.
std::vector<uint64_t> RowMajorStrides(const std::vector<uint64_t>& shape);
/// Column-major strides of `shape`: the first index varies fastest.
std::vector<uint64_t> ColumnMajorStrides(const std::vector<uint64_t>& shape);

/// The elements of an array in row-major order, little-endian: a range of
/// `stored` if its bytes have this order already, else computed from it. The
/// layout must address no byte past the end of `stored`, and the product of the
/// shape times the width must not overflow. The cache has the pieces of the
/// stored bytes under the indexes from key.index on. So only Contents of the
/// same stored bytes may share `key`, and no other key of key.owner may be
/// among these indexes.
Content StridedContent(Key key, const Content& stored, StridedLayout layout);

}  // namespace ctxfs
