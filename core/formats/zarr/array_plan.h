// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/formats/zarr/chain.h"
#include "core/formats/zarr/element_type.h"
#include "core/formats/zarr/grid.h"

namespace ctxfs::zarr {

/// The number of chunks in a dimension. The last one may be partly outside of
/// the array.
constexpr uint64_t ChunksIn(uint64_t extent, uint64_t chunk) {
  return extent / chunk + (extent % chunk == 0 ? 0 : 1);
}

/// The parsed metadata of an array (docs/formats/zarr.md, section 2).
struct ArrayPlan {
  int version = 3;
  ElementType type;
  Indices shape;
  Indices chunk;
  uint64_t size = 0;  // bytes of all elements; of lines, a minimum
  std::string fill;   // FillElement
  Json fill_value;    // as stored; null: undefined
  Chain chain;
  std::string key_start;  // "c" or nothing
  char separator = '/';
  /// Whether the separator is a guess, because v2 metadata has none.
  bool separator_guessed = false;
  Json dimension_names;  // a list, or null

  /// The bytes of the array, where each chunk counts as at least kChunkWeight
  /// bytes, and each inner chunk as at least kInnerChunkWeight. The limit
  /// kUnjustifiedBytes applies to their sum over all arrays.
  uint64_t Weight() const;
  /// The key of a chunk below the array's path.
  std::string KeyOf(const Indices& chunk_index) const;
};

/// Parses `root`, the metadata of an array. Fails with kUnsupported for an
/// unknown type or codec, with kLimit if a limit is exceeded, and with kCorrupt
/// if the metadata is invalid. The message starts with the faulty part.
Result<ArrayPlan> PlanOfV2(const Json& root);
Result<ArrayPlan> PlanOfV3(const Json& root);

}  // namespace ctxfs::zarr
