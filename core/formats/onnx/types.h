// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {

/// The fields of a TensorProto that hold elements one by one.
enum class TypedField : uint8_t {
  kFloat = 4,
  kInt32 = 5,
  kString = 6,
  kInt64 = 7,
  kDouble = 10,
  kUint64 = 11,
};

constexpr int64_t kStringType = 8;

/// An element type (docs/formats/onnx.md, section 4).
struct ElementType {
  int64_t code;
  std::string_view dtype;
  unsigned bits;  // of one element; 0 for strings
  TypedField field;
  unsigned parts = 1;  // values of the typed field for one element

  /// Whether several elements share a byte in both forms.
  bool IsPacked() const { return bits == 2 || bits == 4; }
};

/// Null for a code without elements.
const ElementType* ElementTypeOf(int64_t code);

/// How a value of the field is written if it is not packed.
WireType WireTypeOf(TypedField field);

/// "f32"; "undefined" for 0, "dtype_99" for an unknown code.
std::string DTypeNameOf(int64_t code);

/// Bytes of `count` elements as raw_data has them; nullopt if they are not
/// below 2^63.
std::optional<uint64_t> BytesOf(const ElementType& type, uint64_t count);

/// Values of the typed field for `count` elements; nullopt as above.
std::optional<uint64_t> ValuesOf(const ElementType& type, uint64_t count);

}  // namespace ctxfs::onnx
