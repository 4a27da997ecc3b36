// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/formats/graph/sjgn_cursor.h"

namespace ctxfs::graph {

/// An array in a section. With `bits`, elements are stored as bits.
struct SjgnArray {
  static constexpr uint32_t kStored = UINT32_MAX;

  std::string name;
  DType dtype = DType::kI64;
  std::vector<uint64_t> shape;
  uint64_t offset = 0;
  uint64_t size = 0;  // of the array's file
  bool bits = false;
  /// The table whose decoded ids have this array from byte `offset` on;
  /// kStored: the section itself has the array, at `offset`.
  uint32_t table = kStored;
};

/// Return the arrays in the section `name`; valid only if `in` is ok().
SjgnArray ReadFeature(SjgnCursor& in, const std::string& name);
std::vector<SjgnArray> ReadSplit(SjgnCursor& in, const std::string& name);
std::vector<SjgnArray> ReadAdjacency(SjgnCursor& in, const std::string& name);

}  // namespace ctxfs::graph
