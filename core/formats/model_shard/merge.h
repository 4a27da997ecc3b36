// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/model_shard/delta.h"

namespace ctxfs::model_shard {

/// A delta whose tensors fit together: the inputs of a merged tensor.
struct Deltas::Resolved {
  enum class Kind { kLora, kScale, kSparse };

  Kind kind = Kind::kScale;
  uint32_t entry = 0;           // of the delta
  std::vector<uint64_t> shape;  // of the result, and of the base
  uint64_t elements = 0;
  uint64_t columns = 0;  // elements of a row

  std::shared_ptr<const TensorShard> outside;  // null: the same container
  uint32_t base_entry = 0;
  std::string base_hash;
  DType base_type = DType::kF32;
  std::shared_ptr<const Resolved> below;  // the base's own delta, if any

  DType own_type = DType::kF32;
  uint64_t own_count = 0;
  bool per_row = false;  // scale

  uint32_t other = 0;  // lora: a; sparse: indices
  DType other_type = DType::kF32;
  uint64_t rank = 0;
  float factor = 0;
};

/// The container that a merge reads, and the verdicts of its checks.
struct MergePlace {
  const TensorShard* shard;
  std::shared_ptr<const void> owner;  // keeps the shard alive
  uint64_t key_owner;
  std::shared_ptr<std::map<uint32_t, AtomicVerdict>> verdicts;
};

/// Opens the merged tensor. A window is computed from the rows that it touches.
Result<Content> OpenMerged(const MergePlace& place,
                           const Deltas::Resolved& delta,
                           const ReadContext& context);

}  // namespace ctxfs::model_shard
