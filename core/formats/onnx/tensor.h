// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/onnx/types.h"
#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {

/// Where external data is (docs/formats/onnx.md, section 6).
struct ExternalData {
  std::string location;  // normalised: below the model's directory
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// A TensorProto (docs/formats/onnx.md, section 4): its description, and where
/// its bytes are.
struct Tensor {
  /// Where its bytes come from.
  enum class Storage : uint8_t {
    kStored,    // bytes [data.begin, data.end) of the model
    kTyped,     // decoded from a typed field
    kStrings,   // strings, each written as a line of JSON
    kExternal,  // another file
    kFault,     // nowhere: see `fault`
  };

  std::optional<WireRange> name;
  std::vector<int64_t> dims;
  int64_t data_type = 0;
  Storage storage = Storage::kFault;
  WireRange data;
  uint64_t size = 0;      // in bytes; 0 for kStrings; not set for kFault
  uint64_t elements = 0;  // not set for kFault
  ExternalData external;
  std::string fault;  // of kFault: why
};

/// Reads a tensor, and none of its elements. Fails with kCorrupt for a broken
/// message, and with kLimit. A fault that concerns only this tensor is its
/// `fault`.
Result<Tensor> ReadTensor(WireReader& reader, const WireRanges& message);

/// Appends the values of a field of dimensions, packed or not.
Status ReadDims(WireReader& reader, const WireField& field,
                std::vector<int64_t>& dims);

/// The product of dimensions that are not negative; nullopt if there is one
/// that is, or if the product is not below 2^63.
std::optional<uint64_t> ElementCount(const std::vector<int64_t>& dims);

}  // namespace ctxfs::onnx
