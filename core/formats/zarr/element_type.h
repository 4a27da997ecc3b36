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

/// Numbers as a file has them.
struct NumberType {
  DType dtype = DType::kU8;
  bool big = false;  // big-endian

  size_t size() const { return DTypeSize(dtype); }
  /// Bytes whose order the byte order concerns: a part of a complex number.
  size_t unit() const { return IsComplex(dtype) ? size() / 2 : size(); }
};

/// An integer of 64 bits, with a sign or without, or a double: exactly.
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64);

/// The number of type `dtype`, which is not complex, with these bits.
Number NumberOf(DType dtype, uint64_t bits);

/// The bits of a number of type `dtype`. Rounds to the nearest float, ties to
/// even. Converts to integers as numpy does: modulo their range, from floats
/// towards zero; what does not fit into 64 bits becomes -2^63.
uint64_t BitsOf(DType dtype, Number number);

bool IsFloat(DType dtype);

/// Returns the type that numpy calls "<i4", or version 3 "int32"; nullopt for
/// another name.
std::optional<NumberType> NumberNamed(std::string_view name);

/// The type of an array's elements (docs/formats/zarr.md, section 3).
struct ElementType {
  enum class Kind : uint8_t {
    kNumber,
    kOpaque,   // bytes without a DType, such as structures, shown as stored
    kTicks,    // the same: times, which are integers
    kText,     // texts of any length, shown as JSON lines
    kBinary,   // bytes of any length, shown as JSON lines of base64
    kUnknown,  // cannot be read
  };

  Kind kind = Kind::kUnknown;
  NumberType number = {};  // of kNumber
  uint64_t size = 1;       // bytes, unless they vary
  /// Bytes of a character in a fill value of kOpaque.
  uint32_t character = 1;
  std::string name = {};  // as stored, for people

  bool lines() const { return kind == Kind::kText || kind == Kind::kBinary; }
};

/// Returns the type of a v2 `dtype`; kUnknown for one that is not read. "|O" is
/// kUnknown, too: a filter says what it is. Fails with kCorrupt if it is no
/// type at all, or too large.
Result<ElementType> TypeOfV2(const Json& dtype);
/// Returns the type of a v3 `data_type`.
Result<ElementType> TypeOfV3(const Json& data_type);

/// Returns the bytes of a fill value (section 6), as an element has them; zeros
/// follow if they are fewer. For lines, the text itself. `value` may be null,
/// which v2 calls undefined: there are no bytes then. Fails with kCorrupt if
/// the value does not fit the type.
Result<std::string> FillElement(const ElementType& type, const Json& value);

}  // namespace ctxfs::zarr
