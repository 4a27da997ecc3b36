// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/content/block.h"
#include "core/content/content.h"
#include "core/formats/onnx/types.h"
#include "core/formats/onnx/wire.h"
#include "core/io/source.h"

namespace ctxfs::onnx {

/// A tensor whose bytes are decoded from its message.
struct DecodedTensor {
  WireRanges message;
  ElementType type;
  uint64_t values = 0;  // in the typed field
  uint64_t size = 0;    // bytes of the result
};

/// Returns a block that decodes the elements of a typed field: into the bytes
/// that raw_data would have (docs/formats/onnx.md, section 4), or for strings
/// into the result of StringText. Decoding numbers fails with kCorrupt if the
/// shape requires another number of elements.
std::shared_ptr<const Block> DecodedElements(
    Key key, std::shared_ptr<const Source> source,
    std::shared_ptr<const DecodedTensor> tensor);

/// Returns the strings of a tensor as JSON lines, row-major.
Result<std::string> StringText(WireReader& reader, const WireRanges& message);

/// Unpacks `count` integers of 2 or 4 bits to a byte each; extends the sign of
/// signed ones.
Content UnpackIntegers(const ElementType& type, Content packed, uint64_t count);

}  // namespace ctxfs::onnx
