// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ctxfs {

/// Element types of arrays, as numpy and safetensors know them. Containers'
/// own type codes are mapped to these by their formats.
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
};

/// Bytes of one element.
constexpr size_t DTypeSize(DType dtype) {
  constexpr size_t kSizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return kSizes[static_cast<size_t>(dtype)];
}

/// "bool", "i8", ... "bf16", "f32", "f64": what xattrs and index.json say.
constexpr std::string_view DTypeName(DType dtype) {
  constexpr std::string_view kNames[] = {"bool", "i8",  "u8",  "i16", "u16",
                                         "i32",  "u32", "i64", "u64", "f16",
                                         "bf16", "f32", "f64"};
  return kNames[static_cast<size_t>(dtype)];
}

/// The type of that short name, exactly as DTypeName spells it.
constexpr std::optional<DType> DTypeOf(std::string_view name) {
  for (uint8_t i = 0; i <= static_cast<uint8_t>(DType::kF64); ++i) {
    if (DTypeName(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace ctxfs
