// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {

/// The fields of a TensorProto that list elements one by one.
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
  unsigned bits;  // of an element; 0 for strings
  TypedField field;
  unsigned parts = 1;  // values of the typed field per element

  /// Whether elements share a byte in the typed field, as they do in raw_data.
  bool IsPacked() const { return bits == 2 || bits == 4; }
};

/// Returns the type of a code; null for an unknown code, and for 0 (undefined).
const ElementType* ElementTypeOf(int64_t code);

/// Returns the wire type of an unpacked value of the field.
WireType WireTypeOf(TypedField field);

/// Returns the name of a type, such as "f32"; "undefined" for 0, "dtype_99" for
/// an unknown code.
std::string DTypeNameOf(int64_t code);

/// Returns the number of bytes of `count` elements in raw_data; nullopt if they
/// have 2^64 bits or more.
std::optional<uint64_t> BytesOf(const ElementType& type, uint64_t count);

/// Returns the number of values that the typed field has for `count` elements;
/// nullopt on overflow of 64 bits.
std::optional<uint64_t> ValuesOf(const ElementType& type, uint64_t count);

}  // namespace ctxfs::onnx
