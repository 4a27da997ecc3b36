// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/result.h"

namespace ctxfs::model_shard {

/// The header of a tensor's payload (docs/formats/model_shard.md, section 2).
struct TensorHeader {
  static constexpr uint64_t kFixedBytes = 4;  // before the dimensions
  /// Size of the longest header, with 255 dimensions.
  static constexpr uint64_t kMaxBytes = kFixedBytes + 8 * 255;

  uint8_t code = 0;
  /// The element type; packed types are shown as bytes.
  DType dtype = DType::kU8;
  /// The name of the stored type: "f32", ..., or a packed type such as "qint4".
  std::string_view type_name;
  std::vector<uint64_t> shape;
  uint64_t header_size = 0;
  uint64_t data_size = 0;
  /// Why the type is a guess, or why the elements are shown as bytes; else
  /// empty.
  std::string_view note;

  uint64_t elements() const { return data_size / DTypeSize(dtype); }
};

/// Parses the header of a payload of `payload_size` bytes. `head`: the start of
/// the payload, at least its header. Fails with kCorrupt, at `offset`, if the
/// payload is shorter than the header requires or, with `exact`, longer.
Result<TensorHeader> ParseTensorV1(Bytes head, uint64_t payload_size,
                                   bool exact, uint64_t offset);

}  // namespace ctxfs::model_shard
