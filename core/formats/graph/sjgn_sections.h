// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/formats/graph/sjgn_cursor.h"

namespace ctxfs::graph {

/// An array in a section. With `bits`, an element is stored as a bit, and shown
/// as a byte.
struct SjgnArray {
  static constexpr uint32_t kStored = UINT32_MAX;

  std::string name;
  DType dtype = DType::kI64;
  std::vector<uint64_t> shape;
  uint64_t offset = 0;
  uint64_t size = 0;  // of the array's file
  bool bits = false;
  /// The table to whose ids the array belongs: it starts at `offset` in the
  /// ids. kStored: no table.
  uint32_t table = kStored;
};

/// Return the arrays in a section called `name`; valid only if `in` is still
/// ok().
SjgnArray ReadFeature(SjgnCursor& in, const std::string& name);
std::vector<SjgnArray> ReadSplit(SjgnCursor& in, const std::string& name);
std::vector<SjgnArray> ReadAdjacency(SjgnCursor& in, const std::string& name);

}  // namespace ctxfs::graph
