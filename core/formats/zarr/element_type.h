// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/base/json/json.h"
#include "core/base/result.h"

namespace ctxfs::zarr {

/// The type and byte order of stored numbers.
struct NumberType {
  DType dtype = DType::kU8;
  bool big = false;  // big-endian

  size_t size() const { return DTypeSize(dtype); }
  /// Number of bytes to which the byte order applies: a whole number, or one
  /// part of a complex number.
  size_t unit() const { return IsComplex(dtype) ? size() / 2 : size(); }
};

/// Holds any int64_t, uint64_t or double exactly.
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64);

/// The number of type `dtype` with these bits. `dtype` must not be complex.
Number NumberOf(DType dtype, uint64_t bits);

/// Converts a number to `dtype` and returns its bits, of which only those of
/// `dtype` count. Rounds to the nearest float, ties to even. Converts to
/// integers as numpy does: drops the fraction, and takes the result modulo the
/// range of `dtype`; a number that does not fit into 64 bits becomes -2^63.
uint64_t BitsOf(DType dtype, Number number);

bool IsFloat(DType dtype);

/// Returns a type by its name in numpy, such as "<i4", or in version 3, such as
/// "int32"; nullopt for any other name.
std::optional<NumberType> NumberNamed(std::string_view name);

/// The type of an array's elements (docs/formats/zarr.md, section 3).
struct ElementType {
  enum class Kind : uint8_t {
    kNumber,
    kOpaque,   // bytes without a DType, such as structures, shown as stored
    kTicks,    // times, which are integers of 64 bits, shown as stored
    kText,     // texts of any length, shown as JSON lines
    kBinary,   // bytes of any length, shown as JSON lines of base64
    kUnknown,  // cannot be read
  };

  Kind kind = Kind::kUnknown;
  NumberType number = {};  // of kNumber
  uint64_t size = 1;       // bytes; unused for lines
  /// Bytes of a character in a fill value of kOpaque.
  uint32_t character = 1;
  std::string name = {};  // as stored, for people

  bool lines() const { return kind == Kind::kText || kind == Kind::kBinary; }
};

/// Returns the type of a v2 `dtype`. It is kUnknown for a type that cannot be
/// read, and for "|O", whose type the first filter states. Fails with kCorrupt
/// if `dtype` is no type or too large.
Result<ElementType> TypeOfV2(const Json& dtype);
/// Returns the type of a v3 `data_type`.
Result<ElementType> TypeOfV3(const Json& data_type);

/// Returns the first bytes of an element that is the fill value (section 6);
/// the rest of the element is zeros. For lines, returns the whole text, or the
/// bytes that the base64 in `value` encodes. Returns no bytes if `value` is
/// null, which v2 calls undefined, or if the type is kUnknown. Fails with
/// kCorrupt if the value does not fit the type.
Result<std::string> FillElement(const ElementType& type, const Json& value);

}  // namespace ctxfs::zarr
