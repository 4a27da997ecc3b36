// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/element_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/text/whole_number.h"
#include "core/codec/numbers/half.h"

namespace ctxfs::zarr {
namespace {

using Kind = ElementType::Kind;

struct NumberName {
  std::string_view v2;  // without the byte order
  std::string_view v3;
  DType dtype;
};

constexpr NumberName kNumbers[] = {
    {"b1", "bool", DType::kBool},           {"i1", "int8", DType::kI8},
    {"i2", "int16", DType::kI16},           {"i4", "int32", DType::kI32},
    {"i8", "int64", DType::kI64},           {"u1", "uint8", DType::kU8},
    {"u2", "uint16", DType::kU16},          {"u4", "uint32", DType::kU32},
    {"u8", "uint64", DType::kU64},          {"f2", "float16", DType::kF16},
    {"f4", "float32", DType::kF32},         {"f8", "float64", DType::kF64},
    {"c8", "complex64", DType::kC64},       {"c16", "complex128", DType::kC128},
    {"bfloat16", "bfloat16", DType::kBf16},
};

constexpr uint64_t kMaxElementBytes = limits::kGiB;

Error BadType(const std::string& text) {
  return {Code::kCorrupt, "dtype: " + text};
}

std::optional<DType> FindNumber(std::string_view NumberName::*column,
                                std::string_view name) {
  const auto found = std::ranges::find(kNumbers, name, column);
  if (found == std::end(kNumbers)) return std::nullopt;
  return found->dtype;
}

/// numpy's name without the character of the byte order.
std::string_view WithoutOrder(std::string_view name) {
  const bool ordered = !name.empty() && std::string_view("<>|=").find(
                                            name[0]) != std::string_view::npos;
  return name.substr(ordered ? 1 : 0);
}

std::optional<NumberType> NumpyNumber(std::string_view name) {
  const auto dtype = FindNumber(&NumberName::v2, WithoutOrder(name));
  if (!dtype) return std::nullopt;
  return NumberType{*dtype, name[0] == '>'};
}

ElementType TypeOfNumber(const NumberType& number, std::string name) {
  return {.kind = Kind::kNumber,
          .number = number,
          .size = number.size(),
          .name = std::move(name)};
}

ElementType Unknown(std::string name) { return {.name = std::move(name)}; }

ElementType TicksOf(std::string name) {
  return {
      .kind = Kind::kTicks, .size = sizeof(int64_t), .name = std::move(name)};
}

/// Returns the type of elements of `length` characters, each of `character`
/// bytes; kUnknown if `length` is 0.
Result<ElementType> OpaqueOf(uint64_t length, uint32_t character,
                             std::string name) {
  if (length == 0) return Unknown(std::move(name));
  if (length > kMaxElementBytes / character) return BadType("it is too long");
  return ElementType{.kind = Kind::kOpaque,
                     .size = length * character,
                     .character = character,
                     .name = std::move(name)};
}

Result<ElementType> TypeOfText(const std::string& text) {
  if (text.empty()) return BadType("it is empty");
  if (const auto number = NumpyNumber(text)) return TypeOfNumber(*number, text);
  const std::string_view plain = WithoutOrder(text);
  if (plain.starts_with("M8") || plain.starts_with("m8")) return TicksOf(text);
  const char kind = plain.empty() ? '\0' : plain[0];
  const bool known =
      std::string_view("SUVa").find(kind) != std::string_view::npos;
  const auto length =
      known ? WholeNumber<uint64_t>(plain.substr(1)) : std::nullopt;
  return OpaqueOf(length.value_or(0), kind == 'U' ? 4 : 1, text);
}

/// Multiplies `size` by the extents of a field's shape.
Status MultiplyByShape(const Json& shape, uint64_t& size) {
  if (!shape.is_array()) return BadType("a field has an invalid shape");
  for (const Json& extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() == 0) {
      return BadType("a field has an invalid shape");
    }
    const auto product = CheckedMul(size, extent.get<uint64_t>());
    if (!product || *product > kMaxElementBytes) {
      return BadType("it is too long");
    }
    size = *product;
  }
  return {};
}

/// The type of a structure of `fields`: [name, type] or [name, type, shape].
/// Its name has the names and types of the fields. Recursion ends, because
/// metadata nests at most kMaxNesting deep.
template <typename TypeOf>
Result<ElementType> Structure(const Json& fields, const TypeOf& type_of) {
  if (!fields.is_array() || fields.empty()) return BadType("it has no fields");
  uint64_t size = 0;
  std::string name = "{";
  for (const Json& field : fields) {
    if (!field.is_array() || field.size() < 2 || field.size() > 3 ||
        !field[0].is_string()) {
      return BadType("a field is no list of a name and a type");
    }
    const ElementType type = CTXFS_TRY(type_of(field[1]));
    if (type.kind == Kind::kUnknown || type.lines()) {
      return Unknown(field[1].dump());
    }
    uint64_t bytes = type.size;
    if (field.size() == 3) CTXFS_TRY(MultiplyByShape(field[2], bytes));
    size += bytes;
    if (size > kMaxElementBytes) return BadType("it is too long");
    if (name.size() > 1) name += ", ";
    name += field[0].get<std::string>() + ": " + type.name;
  }
  return OpaqueOf(size, 1, name + "}");
}

Result<ElementType> TypeOfName(const std::string& name,
                               const Json& configuration) {
  if (const auto number = FindNumber(&NumberName::v3, name)) {
    return TypeOfNumber({*number}, name);
  }
  if (name == "string") return ElementType{.kind = Kind::kText, .name = name};
  if (name == "bytes" || name == "variable_length_bytes") {
    return ElementType{.kind = Kind::kBinary, .name = name};
  }
  if (name == "null_terminated_bytes" || name == "fixed_length_utf32" ||
      name == "raw_bytes") {
    const auto length = CountAt(configuration, "length_bytes");
    if (!length) return BadType(name + " has no valid length_bytes");
    ElementType type = CTXFS_TRY(OpaqueOf(*length, 1, name));
    if (name == "fixed_length_utf32") type.character = 4;
    return type;
  }
  if (name == "numpy.datetime64" || name == "numpy.timedelta64") {
    return TicksOf(name + "[" + TextAt(configuration, "unit") + "]");
  }
  if (name == "structured") {
    const Json* const fields = MemberAt(configuration, "fields");
    return Structure(fields == nullptr ? Json() : *fields, &TypeOfV3);
  }
  const auto bits =
      name.starts_with('r')
          ? WholeNumber<uint64_t>(std::string_view(name).substr(1))
          : std::nullopt;
  const bool known = bits && *bits % 8 == 0 && *bits / 8 <= kMaxElementBytes;
  return OpaqueOf(known ? *bits / 8 : 0, 1, name);
}

/// Rounds `value` to a float of 16 bits, with `fraction` bits after the point
/// and an exponent of 15 - `fraction` bits; ties to even.
uint64_t SmallFloat(double value, int fraction) {
  const int bias = (1 << (14 - fraction)) - 1;
  const unsigned infinity = 0x8000U - (1U << fraction);
  const unsigned sign = std::signbit(value) ? 0x8000U : 0;
  if (std::isnan(value)) return sign | infinity | 1U << (fraction - 1);
  const double size = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  if (size == 0) return sign;
  int exponent = 0;
  (void)std::frexp(size, &exponent);
  // The exponent of the last bit. All subnormal numbers have the same.
  const int last = std::max(exponent - 1, 1 - bias) - fraction;
  const auto digits =
      static_cast<unsigned>(std::nearbyint(std::ldexp(size, -last)));
  // If rounding carries into the next power of two, the addition increases the
  // exponent, as it must.
  const unsigned bits =
      (static_cast<unsigned>(last + fraction + bias - 1) << fraction) + digits;
  return sign | std::min(bits, infinity);
}

uint64_t IntegerBits(Number number) {
  constexpr Number kEnd = 9223372036854775808.0L;  // 2^63
  if (number >= 0 && number < 2 * kEnd) return static_cast<uint64_t>(number);
  if (!(number >= -kEnd && number < kEnd)) return uint64_t{1} << 63;
  return static_cast<uint64_t>(static_cast<int64_t>(number));
}

}  // namespace

std::optional<NumberType> NumberNamed(std::string_view name) {
  if (const auto dtype = FindNumber(&NumberName::v3, name)) {
    return NumberType{*dtype};
  }
  return NumpyNumber(name);
}

Result<ElementType> TypeOfV2(const Json& dtype) {
  if (dtype.is_string()) return TypeOfText(dtype.get<std::string>());
  return Structure(dtype, &TypeOfV2);
}

Result<ElementType> TypeOfV3(const Json& data_type) {
  if (data_type.is_string()) {
    return TypeOfName(data_type.get<std::string>(), Json());
  }
  const std::string name = TextAt(data_type, "name");
  if (name.empty()) return BadType("data_type has no name");
  const Json* const configuration = MemberAt(data_type, "configuration");
  return TypeOfName(name, configuration == nullptr ? Json() : *configuration);
}

Number NumberOf(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kBool:
      return static_cast<uint8_t>(bits);
    case DType::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    case DType::kBf16:
      return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    case DType::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::kF64:
      return std::bit_cast<double>(bits);
    default:
      return VisitNumber(
          dtype,
          [bits](auto zero) -> Number {
            return static_cast<decltype(zero)>(bits);
          },
          [] { return Number{0}; });
  }
}

uint64_t BitsOf(DType dtype, Number number) {
  switch (dtype) {
    case DType::kBool:
      return number != 0 ? 1 : 0;
    case DType::kF16:
      return SmallFloat(static_cast<double>(number), 10);
    case DType::kBf16:
      return SmallFloat(static_cast<double>(number), 7);
    case DType::kF32:
      // Does not convert to double first, because numpy rounds a 64-bit integer
      // to float32 only once.
      return std::bit_cast<uint32_t>(static_cast<float>(number));
    case DType::kF64:
      return std::bit_cast<uint64_t>(static_cast<double>(number));
    default:
      return IntegerBits(number);
  }
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBf16 ||
         dtype == DType::kF32 || dtype == DType::kF64;
}

}  // namespace ctxfs::zarr
