// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/element_type.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/text/whole_number.h"

namespace ctxfs::zarr {
namespace {

using Kind = ElementType::Kind;

struct NumberName {
  std::string_view v2;  // without the byte order
  std::string_view v3;
  DType dtype;
};

constexpr std::array kNumbers = {
    NumberName{"b1", "bool", DType::kBool},
    NumberName{"i1", "int8", DType::kI8},
    NumberName{"i2", "int16", DType::kI16},
    NumberName{"i4", "int32", DType::kI32},
    NumberName{"i8", "int64", DType::kI64},
    NumberName{"u1", "uint8", DType::kU8},
    NumberName{"u2", "uint16", DType::kU16},
    NumberName{"u4", "uint32", DType::kU32},
    NumberName{"u8", "uint64", DType::kU64},
    NumberName{"f2", "float16", DType::kF16},
    NumberName{"f4", "float32", DType::kF32},
    NumberName{"f8", "float64", DType::kF64},
    NumberName{"c8", "complex64", DType::kC64},
    NumberName{"c16", "complex128", DType::kC128},
    NumberName{"bfloat16", "bfloat16", DType::kBf16},
};

constexpr uint64_t kMaxElementBytes = limits::kGiB;

Error BadType(const std::string& text) {
  return {Code::kCorrupt, "dtype: " + text};
}

ElementType NumberOf(DType dtype, std::string name) {
  ElementType type;
  type.kind = Kind::kNumber;
  type.dtype = dtype;
  type.size = DTypeSize(dtype);
  type.unit =
      static_cast<uint32_t>(IsComplex(dtype) ? type.size / 2 : type.size);
  type.name = std::move(name);
  return type;
}

ElementType OpaqueOf(uint64_t size, std::string name) {
  ElementType type;
  type.kind = Kind::kOpaque;
  type.size = size;
  type.name = std::move(name);
  return type;
}

ElementType Unknown(std::string name) {
  ElementType type;
  type.name = std::move(name);
  return type;
}

ElementType LinesOf(Kind kind, std::string name) {
  ElementType type = Unknown(std::move(name));
  type.kind = kind;
  return type;
}

std::optional<ElementType> FindNumber(std::string_view NumberName::*column,
                                      std::string_view name) {
  const auto found = std::ranges::find(kNumbers, name, column);
  if (found == kNumbers.end()) return std::nullopt;
  return NumberOf(found->dtype, std::string(name));
}

Result<ElementType> TypeOfText(const std::string& text) {
  if (text.empty()) return BadType("it is empty");
  const bool ordered =
      text[0] == '<' || text[0] == '>' || text[0] == '|' || text[0] == '=';
  const std::string_view plain = std::string_view(text).substr(ordered ? 1 : 0);
  if (auto number = FindNumber(&NumberName::v2, plain)) {
    number->big = text[0] == '>';
    number->name = text;
    return *std::move(number);
  }
  const char kind = plain.empty() ? '\0' : plain[0];
  if (plain.starts_with("M8") || plain.starts_with("m8")) {
    ElementType type = OpaqueOf(sizeof(uint64_t), text);
    type.ticks = true;
    return type;
  }
  if (kind != 'S' && kind != 'U' && kind != 'V' && kind != 'a') {
    return Unknown(text);
  }
  const auto length = WholeNumber<uint64_t>(plain.substr(1));
  if (!length || *length == 0) return Unknown(text);
  const uint32_t character = kind == 'U' ? 4 : 1;
  if (*length > kMaxElementBytes / character) return BadType("it is too long");
  ElementType type = OpaqueOf(*length * character, text);
  type.character = character;
  return type;
}

/// Multiplies `size` by the members of an optional shape of a field.
Status MultiplyByShape(const Json& shape, uint64_t& size) {
  if (!shape.is_array()) return BadType("a field has an invalid shape");
  for (const Json& extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() == 0) {
      return BadType("a field has an invalid shape");
    }
    const auto product = CheckedMul(size, extent.get<uint64_t>());
    if (!product || *product > kMaxElementBytes)
      return BadType("it is too long");
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
    if (type.kind != Kind::kNumber && type.kind != Kind::kOpaque) {
      return Unknown(field[1].dump());
    }
    uint64_t bytes = type.size;
    if (field.size() == 3) CTXFS_TRY(MultiplyByShape(field[2], bytes));
    size += bytes;
    if (size > kMaxElementBytes) return BadType("it is too long");
    if (name.size() > 1) name += ", ";
    name += field[0].get<std::string>() + ": " + type.name;
  }
  return OpaqueOf(size, name + "}");
}

/// A v3 type whose configuration says its length in bytes.
Result<ElementType> TypeOfLength(const std::string& name,
                                 const Json& configuration) {
  const auto length = CountAt(configuration, "length_bytes");
  if (!length || *length > kMaxElementBytes) {
    return BadType(name + " has no valid length_bytes");
  }
  if (*length == 0) return Unknown(name + " of no bytes");
  ElementType type = OpaqueOf(*length, name);
  if (name == "fixed_length_utf32") type.character = 4;
  return type;
}

Result<ElementType> TypeOfName(const std::string& name,
                               const Json& configuration) {
  if (auto number = FindNumber(&NumberName::v3, name))
    return *std::move(number);
  if (name == "string") return LinesOf(Kind::kText, name);
  if (name == "bytes" || name == "variable_length_bytes") {
    return LinesOf(Kind::kBinary, name);
  }
  if (name == "null_terminated_bytes" || name == "fixed_length_utf32" ||
      name == "raw_bytes") {
    return TypeOfLength(name, configuration);
  }
  if (name == "numpy.datetime64" || name == "numpy.timedelta64") {
    ElementType type = OpaqueOf(
        sizeof(uint64_t), name + "[" + TextAt(configuration, "unit") + "]");
    type.ticks = true;
    return type;
  }
  if (name == "structured") {
    const Json* const fields = MemberAt(configuration, "fields");
    return Structure(fields == nullptr ? Json() : *fields, &TypeOfV3);
  }
  if (name.starts_with('r')) {
    const auto bits = WholeNumber<uint64_t>(std::string_view(name).substr(1));
    if (bits && *bits % 8 == 0 && *bits / 8 <= kMaxElementBytes && *bits > 0) {
      return OpaqueOf(*bits / 8, name);
    }
  }
  return Unknown(name);
}

}  // namespace

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

std::optional<ElementType> NumberType(const std::string& text) {
  if (auto named = FindNumber(&NumberName::v3, text)) return named;
  const Result<ElementType> type = TypeOfText(text);
  if (!type || type->kind != Kind::kNumber) return std::nullopt;
  return *type;
}

bool IsSigned(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 ||
         dtype == DType::kI64;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBf16 ||
         dtype == DType::kF32 || dtype == DType::kF64;
}

}  // namespace ctxfs::zarr
