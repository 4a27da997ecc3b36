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

/// A tensor whose bytes are made from its message.
struct DecodedTensor {
  WireRanges message;
  ElementType type;
  uint64_t values = 0;  // of the typed field
  uint64_t size = 0;    // bytes of the result
};

/// The elements of a typed field as raw_data has them (docs/formats/onnx.md,
/// section 4), or strings as StringText. Fails with kCorrupt if there are not
/// as many elements as the shape needs.
std::shared_ptr<const Block> DecodedElements(
    Key key, std::shared_ptr<const Source> source,
    std::shared_ptr<const DecodedTensor> tensor);

/// The strings of a tensor as JSON, one a line, row-major.
Result<std::string> StringText(WireReader& reader, const WireRanges& message);

/// Integers of 2 or 4 bits, of which `packed` holds `count`, as a byte each.
Content UnpackIntegers(const ElementType& type, Content packed, uint64_t count);

}  // namespace ctxfs::onnx
