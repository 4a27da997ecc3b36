// SPDX-License-Identifier: Apache-2.0
// Fill values (docs/formats/zarr.md, section 6).

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"
#include "core/formats/zarr/element_type.h"

namespace ctxfs::zarr {
namespace {

Error Unfit(const ElementType& type) {
  return {Code::kCorrupt, "fill_value: it is no value of " + type.name};
}

/// The low `size` bytes of `bits`.
std::string BytesOfBits(uint64_t bits, size_t size) {
  std::string bytes;
  AppendLe(bits, bytes);
  return bytes.substr(0, size);
}

/// The value of a JSON number; for integers also of a boolean; for floats also
/// of the texts "NaN", "Infinity" and "-Infinity".
std::optional<Number> NumberIn(const Json& value, bool is_float) {
  using Limits = std::numeric_limits<Number>;
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (!is_float && value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (is_float && value == "NaN") return Limits::quiet_NaN();
  if (is_float && value == "Infinity") return Limits::infinity();
  if (is_float && value == "-Infinity") return -Limits::infinity();
  return std::nullopt;
}

/// The bits in a text such as "0x7fc00000", which must have two digits for each
/// of `size` bytes.
std::optional<uint64_t> HexIn(const Json& value, size_t size) {
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_ref<const std::string&>();
  if (!text.starts_with("0x") || text.size() != 2 + 2 * size) {
    return std::nullopt;
  }
  return WholeNumber<uint64_t>(text.substr(2), 16);
}

/// The bytes of an element of type `dtype`, which must not be complex.
Result<std::string> RealElement(const ElementType& type, DType dtype,
                                const Json& value) {
  const bool is_float = IsFloat(dtype);
  std::optional<uint64_t> bits;
  if (const std::optional<Number> number = NumberIn(value, is_float)) {
    bits = BitsOf(dtype, *number);
    // The bits of an integer that does not fit are those of another number.
    if (!is_float && NumberOf(dtype, *bits) != *number) return Unfit(type);
  } else if (is_float) {
    bits = HexIn(value, DTypeSize(dtype));
  }
  if (!bits) return Unfit(type);
  return BytesOfBits(*bits, DTypeSize(dtype));
}

/// The bytes of a complex element. `value` is a list of the real and the
/// imaginary part, or the real part alone.
Result<std::string> ComplexElement(const ElementType& type, const Json& value) {
  const DType part = type.size == 8 ? DType::kF32 : DType::kF64;
  if (value.is_array() && value.size() != 2) return Unfit(type);
  const Json parts = value.is_array() ? value : Json::array({value, 0});
  std::string bytes;
  for (const Json& one : parts) {
    bytes += CTXFS_TRY(RealElement(type, part, one));
  }
  return bytes;
}

/// The bytes of a text, each character as a unit of `character` bytes.
std::string Characters(const std::string& text, uint32_t character) {
  if (character == 1) return text;
  std::string units;
  uint32_t point = 0;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    const int more = std::max(std::countl_one(first) - 1, 0);
    point = first & (0x7FU >> std::countl_one(first));
    for (int k = 0; k < more && i < text.size(); ++k) {
      point = point << 6 | (static_cast<unsigned char>(text[i++]) & 0x3FU);
    }
    AppendLe(point, units);
  }
  return units;
}

/// The bytes of an element, which are the numbers in `list`.
Result<std::string> ListedElement(const ElementType& type, const Json& list) {
  std::string bytes;
  for (const Json& one : list) {
    const bool byte = one.is_number_unsigned() && one.get<uint64_t>() <= 255;
    if (!byte) return Unfit(type);
    bytes += static_cast<char>(one.get<uint64_t>());
  }
  return bytes.size() == type.size ? Result<std::string>(bytes) : Unfit(type);
}

/// The bytes of an opaque element. `value` is base64 of all bytes, a text, a
/// list of bytes, or 0 or false for zeros.
Result<std::string> OpaqueElement(const ElementType& type, const Json& value) {
  if (value.is_array()) return ListedElement(type, value);
  if (value == 0 || value == false) return std::string();
  if (!value.is_string()) return Unfit(type);
  const auto& text = value.get_ref<const std::string&>();
  const std::optional<std::string> decoded = FromBase64(text);
  if (decoded && decoded->size() == type.size) return *decoded;
  std::string bytes = Characters(text, type.character);
  if (bytes.size() > type.size) return Unfit(type);
  return bytes;
}

/// The text of an element of lines. zarr 2 writes 0 for an empty one.
Result<std::string> LineElement(const ElementType& type, const Json& value) {
  if (value == 0) return std::string();
  if (!value.is_string()) return Unfit(type);
  const auto& text = value.get_ref<const std::string&>();
  if (type.kind == ElementType::Kind::kText) return text;
  std::optional<std::string> bytes = FromBase64(text);
  return bytes ? Result<std::string>(*std::move(bytes)) : Unfit(type);
}

}  // namespace

Result<std::string> FillElement(const ElementType& type, const Json& value) {
  if (value.is_null()) return std::string();
  const DType dtype = type.number.dtype;
  switch (type.kind) {
    case ElementType::Kind::kNumber:
      return IsComplex(dtype) ? ComplexElement(type, value)
                              : RealElement(type, dtype, value);
    case ElementType::Kind::kTicks:
      return RealElement(type, DType::kI64,
                         value == "NaT" ? Json(INT64_MIN) : value);
    case ElementType::Kind::kOpaque:
      return OpaqueElement(type, value);
    case ElementType::Kind::kUnknown:
      return std::string();
    default:
      return LineElement(type, value);
  }
}

}  // namespace ctxfs::zarr
