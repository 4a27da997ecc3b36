// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/fill_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"

namespace ctxfs::zarr {
namespace {

Error Unfit(const ElementType& type) {
  return {Code::kCorrupt, "fill_value: it is no value of " + type.name};
}

/// Rounds `value` to a float with `kFraction` bits after the point and the
/// exponents of `kExponent` bits; ties to even.
template <unsigned kExponent, unsigned kFraction>
uint16_t SmallFloat(double value) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr unsigned kInfinity = ((1U << kExponent) - 1) << kFraction;
  const unsigned sign = std::signbit(value) ? 0x8000U : 0;
  if (std::isnan(value)) {
    return static_cast<uint16_t>(sign | kInfinity | 1U << (kFraction - 1));
  }
  const double size = std::fabs(value);
  if (std::isinf(value)) return static_cast<uint16_t>(sign | kInfinity);
  if (size == 0) return static_cast<uint16_t>(sign);
  int exponent = 0;
  (void)std::frexp(size, &exponent);
  // The exponent of the last bit, which subnormal numbers share.
  const int last = std::max(exponent - 1, 1 - kBias) - int{kFraction};
  const double scaled = std::nearbyint(std::ldexp(size, -last));
  const auto digits = static_cast<unsigned>(scaled);
  // A carry of the digits increases the exponent, as it must.
  const unsigned bits =
      (static_cast<unsigned>(last + int{kFraction} + kBias - 1) << kFraction) +
      digits;
  return static_cast<uint16_t>(sign | std::min(bits, kInfinity));
}

/// The values of "NaN", "Infinity" and "-Infinity".
std::optional<double> SpecialFloat(const std::string& text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

Status AppendFloatBits(const ElementType& type, const std::string& text,
                       size_t size, std::string& bytes) {
  const std::string_view digits = std::string_view(text).substr(2);
  const auto bits = WholeNumber<uint64_t>(digits, 16);
  if (digits.size() != 2 * size || !bits) return Unfit(type);
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(*bits >> 8 * i & 0xFFU);
  }
  return {};
}

Status AppendFloatOf(const ElementType& type, DType dtype, const Json& value,
                     std::string& bytes) {
  if (value.is_number()) {
    AppendNumber(dtype, value.get<double>(), bytes);
    return {};
  }
  if (!value.is_string()) return Unfit(type);
  const auto& text = value.get_ref<const std::string&>();
  if (text.starts_with("0x")) {
    return AppendFloatBits(type, text, DTypeSize(dtype), bytes);
  }
  const std::optional<double> special = SpecialFloat(text);
  if (!special) return Unfit(type);
  AppendNumber(dtype, *special, bytes);
  return {};
}

/// The 64 bits of an integer or boolean: those of its two's complement.
std::optional<uint64_t> IntegerBits(const Json& value, bool& negative) {
  negative = false;
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) {
    negative = value.get<int64_t>() < 0;
    return static_cast<uint64_t>(value.get<int64_t>());
  }
  constexpr double kExact = 9007199254740992;  // 2^53
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::fabs(number) > kExact) {
    return std::nullopt;
  }
  negative = number < 0;
  return static_cast<uint64_t>(static_cast<int64_t>(number));
}

/// Whether the integer fits into `bits` bits.
bool Fits(uint64_t value, bool negative, bool is_signed, unsigned bits) {
  if (negative) {
    return is_signed &&
           static_cast<int64_t>(value) >= -1 - (INT64_MAX >> (64 - bits));
  }
  const unsigned digits = is_signed ? bits - 1 : bits;
  return digits >= 64 || value >> digits == 0;
}

Result<std::string> IntegerElement(const ElementType& type, const Json& value) {
  bool negative = false;
  const std::optional<uint64_t> bits = IntegerBits(value, negative);
  const bool boolean = type.dtype == DType::kBool;
  const bool is_signed = type.ticks || IsSigned(type.dtype);
  const unsigned width = boolean ? 1 : static_cast<unsigned>(8 * type.size);
  if (!bits || !Fits(*bits, negative, is_signed, width)) return Unfit(type);
  std::string bytes;
  for (size_t i = 0; i < type.size; ++i) {
    bytes += static_cast<char>(*bits >> 8 * i & 0xFFU);
  }
  return bytes;
}

Result<std::string> NumberElement(const ElementType& type, const Json& value) {
  std::string bytes;
  if (IsFloat(type.dtype)) {
    CTXFS_TRY(AppendFloatOf(type, type.dtype, value, bytes));
    return bytes;
  }
  if (!IsComplex(type.dtype)) return IntegerElement(type, value);
  const DType part = type.size == 8 ? DType::kF32 : DType::kF64;
  const bool pair = value.is_array() && value.size() == 2;
  if (value.is_array() && !pair) return Unfit(type);
  CTXFS_TRY(AppendFloatOf(type, part, pair ? value[0] : value, bytes));
  CTXFS_TRY(AppendFloatOf(type, part, pair ? value[1] : Json(0), bytes));
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

/// A fill value of opaque elements: base64 of an element, or its text; a list
/// of bytes; for times, a number.
Result<std::string> OpaqueElement(const ElementType& type, const Json& value) {
  if (type.ticks && value == "NaT") {
    return IntegerElement(type, Json(INT64_MIN));
  }
  if (type.ticks) return IntegerElement(type, value);
  std::string bytes;
  if (value.is_array()) {
    for (const Json& one : value) {
      const bool byte = one.is_number_unsigned() && one.get<uint64_t>() <= 255;
      if (!byte) return Unfit(type);
      bytes += static_cast<char>(one.get<uint64_t>());
    }
    if (bytes.size() != type.size) return Unfit(type);
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const std::optional<std::string> decoded = FromBase64(text);
    bytes = decoded && decoded->size() == type.size
                ? *decoded
                : Characters(text, type.character);
  } else if (value != 0 && value != false) {
    return Unfit(type);
  }
  if (bytes.size() > type.size) return Unfit(type);
  bytes.resize(static_cast<size_t>(type.size));
  return bytes;
}

Result<std::string> LineElement(const ElementType& type, const Json& value) {
  // zarr 2 writes 0 for an empty text.
  if (!value.is_string()) {
    return value == 0 ? Result<std::string>(std::string()) : Unfit(type);
  }
  const auto& text = value.get_ref<const std::string&>();
  if (type.kind == ElementType::Kind::kText) return text;
  std::optional<std::string> bytes = FromBase64(text);
  return bytes ? Result<std::string>(*std::move(bytes)) : Unfit(type);
}

}  // namespace

uint16_t HalfOf(double value) { return SmallFloat<5, 10>(value); }

void AppendNumber(DType dtype, double value, std::string& bytes) {
  switch (dtype) {
    case DType::kF16:
      return AppendLe(HalfOf(value), bytes);
    case DType::kBf16:
      return AppendLe(SmallFloat<8, 7>(value), bytes);
    case DType::kF32:
      return AppendLe(static_cast<float>(value), bytes);
    default:
      return AppendLe(value, bytes);
  }
}

Result<std::string> FillElement(const ElementType& type, const Json& value) {
  using Kind = ElementType::Kind;
  switch (type.kind) {
    case Kind::kText:
    case Kind::kBinary:
      if (value.is_null()) return std::string();
      return LineElement(type, value);
    case Kind::kNumber:
      if (!value.is_null()) return NumberElement(type, value);
      break;
    case Kind::kOpaque:
      if (!value.is_null()) return OpaqueElement(type, value);
      break;
    case Kind::kUnknown:
      return std::string();
  }
  return std::string(static_cast<size_t>(type.size), '\0');
}

}  // namespace ctxfs::zarr
