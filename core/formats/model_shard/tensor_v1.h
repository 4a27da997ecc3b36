// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/result.h"

namespace ctxfs {

/// The header of a tensor's payload (docs/model_shard.md, section 2).
struct TensorHeader {
  /// The longest there is: 255 dimensions.
  static constexpr uint64_t kMostBytes = 4 + 8 * 255;

  uint8_t code = 0;
  /// What an element is; packed types count as bytes.
  DType dtype = DType::kU8;
  /// "f32", ..., or what a packed type is called: "qint4".
  std::string_view type_name;
  std::vector<uint64_t> shape;
  uint64_t header_size = 0;
  uint64_t data_size = 0;
  /// Why the type is a guess, empty where it is none.
  std::string_view note;

  uint64_t elements() const { return data_size / DTypeSize(dtype); }
};

/// Reads the header of a payload of `payload_size` bytes that begins with
/// `head`: all of it, or at least its header. What it claims is
/// measured against the bytes that are there: fewer are kCorrupt; more are
/// allowed unless `exact`. Errors are at `offset`.
Result<TensorHeader> ParseTensorV1(Bytes head, uint64_t payload_size,
                                   bool exact, uint64_t offset);

}  // namespace ctxfs
