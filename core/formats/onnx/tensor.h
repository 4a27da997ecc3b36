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

/// Location of external data (docs/formats/onnx.md, section 6).
struct ExternalData {
  std::string location;  // normalised, below the model's directory
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// A TensorProto (section 4): its description, and the location of its bytes.
struct Tensor {
  /// Origin of the bytes.
  enum class Storage : uint8_t {
    kStored,    // bytes [data.begin, data.end) of the model
    kTyped,     // decoded from a typed field
    kStrings,   // shown as a line of JSON for each string
    kExternal,  // another file
    kFault,     // unreadable: see `fault`
  };

  std::optional<WireRange> name;
  std::vector<int64_t> dims;
  int64_t data_type = 0;
  Storage storage = Storage::kFault;
  WireRange data;
  uint64_t size = 0;      // bytes; 0 for kFault and unmeasured kStrings
  uint64_t elements = 0;  // valid unless kFault
  ExternalData external;
  std::string fault;  // reason of kFault
};

/// Reads a tensor's description, but no elements. Fails with kCorrupt for a
/// malformed message, and with kLimit. A fault of this tensor alone becomes
/// `fault`.
Result<Tensor> ReadTensor(WireReader& reader, const WireRanges& message);

/// Appends the values of a dimensions field, packed or not.
Status ReadDims(WireReader& reader, const WireField& field,
                std::vector<int64_t>& dims);

/// Returns the product; nullopt for a negative dimension or from 2^63 on.
std::optional<uint64_t> ElementCount(const std::vector<int64_t>& dims);

}  // namespace ctxfs::onnx
