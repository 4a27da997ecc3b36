// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/formats/zarr/chain.h"
#include "core/formats/zarr/element_type.h"

namespace ctxfs::zarr {

/// What the metadata of an array says (docs/formats/zarr.md, section 2).
struct ArrayPlan {
  int version = 3;
  ElementType type;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> chunk;
  uint64_t size = 0;  // bytes of all elements; for lines, of empty ones
  std::string fill;   // FillElement
  bool fill_defined = true;
  Json fill_value;  // as stored
  Chain chain;
  std::string key_start;  // "c" or nothing
  char separator = '/';
  /// Whether the separator is a guess, because v2 metadata has none.
  bool separator_guessed = false;
  Json dimension_names;  // a list, or null

  /// Chunks in a dimension.
  uint64_t Chunks(size_t dimension) const {
    return shape[dimension] / chunk[dimension] +
           (shape[dimension] % chunk[dimension] == 0 ? 0 : 1);
  }
  /// The bytes that chunks must justify (kChunkWeight).
  uint64_t Weight() const;
  /// The key of a chunk below the array's path.
  std::string KeyOf(const std::vector<uint64_t>& chunk_index) const;
};

/// Returns the plan of an array. `root`: its metadata. Fails with kUnsupported
/// for a type or codec that is not read, with kLimit, and with kCorrupt; the
/// message starts with the faulty part.
Result<ArrayPlan> PlanOfV2(const Json& root);
Result<ArrayPlan> PlanOfV3(const Json& root);

// Shared by both versions.

/// The numbers of a list; fails with kCorrupt, naming `what`.
Result<std::vector<uint64_t>> ReadExtents(const Json& root, const char* key);
/// Sets shape and chunk, and compares their ranks.
Status SetShapes(std::vector<uint64_t> shape, std::vector<uint64_t> chunk,
                 ArrayPlan& plan);
/// Computes sizes from shapes and type, and checks that they do not wrap.
Status SetSize(ArrayPlan& plan);
Status SetFill(const Json& value, ArrayPlan& plan);
/// Fails if a chunk that must be decoded is too large.
Status CheckChunkBytes(const Chain& chain);

}  // namespace ctxfs::zarr
