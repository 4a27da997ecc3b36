// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ctxfs {

/// Element types of arrays, as in numpy, safetensors and torch. Each format
/// maps its own type codes to these.
enum class DType : uint8_t {
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kBf16,
  kF32,
  kF64,
  // Complex numbers: two floats of half the width, the real part first.
  kC32,
  kC64,
  kC128,
  // Floats of 8 bits, named by their exponent and mantissa bits. The fnuz types
  // have no -0 and only one NaN.
  kF8E4M3,
  kF8E5M2,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kF8E8M0,
  // Floats of 6 and 4 bits, packed.
  kF6E2M3,
  kF6E3M2,
  kF4,
};

constexpr size_t kDTypeCount = static_cast<size_t>(DType::kF4) + 1;

constexpr unsigned DTypeBits(DType dtype) {
  constexpr unsigned kBits[kDTypeCount] = {8,  8,  8,  16, 16, 32, 32, 64,
                                           64, 16, 16, 32, 64, 32, 64, 128,
                                           8,  8,  8,  8,  8,  6,  6,  4};
  return kBits[static_cast<size_t>(dtype)];
}

/// Bytes of one element; 1 for sub-byte types, whose elements share bytes.
constexpr size_t DTypeSize(DType dtype) { return (DTypeBits(dtype) + 7) / 8; }

namespace internal {
// Indexed by DType. Defined outside of DTypeName, because each call would copy
// an array that is local to it.
inline constexpr std::string_view kDTypeNames[kDTypeCount] = {
    "bool",        "i8",          "u8",      "i16",     "u16",     "i32",
    "u32",         "i64",         "u64",     "f16",     "bf16",    "f32",
    "f64",         "c32",         "c64",     "c128",    "f8_e4m3", "f8_e5m2",
    "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0", "f6_e2m3", "f6_e3m2", "f4"};
}  // namespace internal

/// Returns the name of a type in xattrs and index.json, such as "bool" or
/// "f32".
constexpr std::string_view DTypeName(DType dtype) {
  return internal::kDTypeNames[static_cast<size_t>(dtype)];
}

/// For an integer type, f32 or f64, returns use(T{}), where T is the C++ type
/// of an element. For any other type, returns otherwise().
template <typename Use, typename Otherwise>
auto VisitNumber(DType dtype, const Use& use, const Otherwise& otherwise) {
  switch (dtype) {
    case DType::kI8:
      return use(int8_t{});
    case DType::kU8:
      return use(uint8_t{});
    case DType::kI16:
      return use(int16_t{});
    case DType::kU16:
      return use(uint16_t{});
    case DType::kI32:
      return use(int32_t{});
    case DType::kU32:
      return use(uint32_t{});
    case DType::kI64:
      return use(int64_t{});
    case DType::kU64:
      return use(uint64_t{});
    case DType::kF32:
      return use(float{});
    case DType::kF64:
      return use(double{});
    default:
      return otherwise();
  }
}

/// Whether VisitNumber calls `use` for this type.
inline bool IsNumber(DType dtype) {
  return VisitNumber(
      dtype, [](auto /*zero*/) { return true; }, [] { return false; });
}

/// Returns the type whose DTypeName is exactly `name`.
constexpr std::optional<DType> DTypeOf(std::string_view name) {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    if (DTypeName(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

constexpr bool IsComplex(DType dtype) {
  return dtype >= DType::kC32 && dtype <= DType::kC128;
}

constexpr bool IsFloat8(DType dtype) {
  return dtype >= DType::kF8E4M3 && dtype <= DType::kF8E8M0;
}

}  // namespace ctxfs
