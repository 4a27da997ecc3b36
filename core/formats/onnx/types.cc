// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/types.h"

#include <algorithm>
#include <iterator>

#include "core/base/bytes.h"

namespace ctxfs::onnx {
namespace {

using enum TypedField;

constexpr ElementType kTypes[] = {
    {1, "f32", 32, kFloat},        {2, "u8", 8, kInt32},
    {3, "i8", 8, kInt32},          {4, "u16", 16, kInt32},
    {5, "i16", 16, kInt32},        {6, "i32", 32, kInt32},
    {7, "i64", 64, kInt64},        {kStringType, "string", 0, kString},
    {9, "bool", 8, kInt32},        {10, "f16", 16, kInt32},
    {11, "f64", 64, kDouble},      {12, "u32", 32, kUint64},
    {13, "u64", 64, kUint64},      {14, "c64", 64, kFloat, 2},
    {15, "c128", 128, kDouble, 2}, {16, "bf16", 16, kInt32},
    {17, "f8_e4m3", 8, kInt32},    {18, "f8_e4m3fnuz", 8, kInt32},
    {19, "f8_e5m2", 8, kInt32},    {20, "f8_e5m2fnuz", 8, kInt32},
    {21, "u4", 4, kInt32},         {22, "i4", 4, kInt32},
    {23, "f4", 4, kInt32},         {24, "f8_e8m0", 8, kInt32},
    {25, "u2", 2, kInt32},         {26, "i2", 2, kInt32},
    {27, "f6_e2m3", 6, kInt32},    {28, "f6_e3m2", 6, kInt32}};

}  // namespace

const ElementType* ElementTypeOf(int64_t code) {
  const auto* found = std::find_if(
      std::begin(kTypes), std::end(kTypes),
      [code](const ElementType& type) { return type.code == code; });
  return found == std::end(kTypes) ? nullptr : found;
}

WireType WireTypeOf(TypedField field) {
  if (field == kFloat) return WireType::kFixed32;
  if (field == kDouble) return WireType::kFixed64;
  return field == kString ? WireType::kBytes : WireType::kVarint;
}

std::string DTypeNameOf(int64_t code) {
  if (const ElementType* type = ElementTypeOf(code)) {
    return std::string(type->dtype);
  }
  return code == 0 ? "undefined" : "dtype_" + std::to_string(code);
}

std::optional<uint64_t> BytesOf(const ElementType& type, uint64_t count) {
  const std::optional<uint64_t> bits = CheckedMul(count, type.bits);
  if (!bits) return std::nullopt;
  return *bits / 8 + (*bits % 8 != 0 ? 1 : 0);
}

std::optional<uint64_t> ValuesOf(const ElementType& type, uint64_t count) {
  if (type.IsPacked()) return BytesOf(type, count);
  return CheckedMul(count, type.parts);
}

}  // namespace ctxfs::onnx
