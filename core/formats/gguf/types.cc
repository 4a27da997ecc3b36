// SPDX-License-Identifier: Apache-2.0
//
// The types of values and of tensors (docs/gguf.md, sections 3 and 5).
#include <array>

#include "core/formats/gguf/header.h"

namespace ctxfs::gguf {
namespace {

struct ValueType {
  std::string_view name;
  uint64_t bytes;
};

constexpr std::array<ValueType, kGgufValueTypes> kValueTypes = {{
    {"uint8", 1},
    {"int8", 1},
    {"uint16", 2},
    {"int16", 2},
    {"uint32", 4},
    {"int32", 4},
    {"float32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"uint64", 8},
    {"int64", 8},
    {"float64", 8},
}};

// In the order of their codes; those without a name were removed.
constexpr std::array<GgufTypeInfo, 43> kTypes = {{
    {"f32", 1, 4, DType::kF32},
    {"f16", 1, 2, DType::kF16},
    {"q4_0", 32, 18},
    {"q4_1", 32, 20},
    {},
    {},
    {"q5_0", 32, 22},
    {"q5_1", 32, 24},
    {"q8_0", 32, 34},
    {"q8_1", 32, 36},
    {"q2_k", 256, 84},
    {"q3_k", 256, 110},
    {"q4_k", 256, 144},
    {"q5_k", 256, 176},
    {"q6_k", 256, 210},
    {"q8_k", 256, 292},
    {"iq2_xxs", 256, 66},
    {"iq2_xs", 256, 74},
    {"iq3_xxs", 256, 98},
    {"iq1_s", 256, 50},
    {"iq4_nl", 32, 18},
    {"iq3_s", 256, 110},
    {"iq2_s", 256, 82},
    {"iq4_xs", 256, 136},
    {"i8", 1, 1, DType::kI8},
    {"i16", 1, 2, DType::kI16},
    {"i32", 1, 4, DType::kI32},
    {"i64", 1, 8, DType::kI64},
    {"f64", 1, 8, DType::kF64},
    {"iq1_m", 256, 56},
    {"bf16", 1, 2, DType::kBf16},
    {},
    {},
    {},
    {"tq1_0", 256, 54},
    {"tq2_0", 256, 66},
    {},
    {},
    {},
    {"mxfp4", 32, 17},
    {"nvfp4", 64, 36},
    {"q1_0", 128, 18},
    {"q2_0", 64, 18},
}};

}  // namespace

std::string_view GgufValueTypeName(uint32_t type) {
  return type < kValueTypes.size() ? kValueTypes[type].name : "";
}

uint64_t GgufValueBytes(uint32_t type) {
  return type < kValueTypes.size() ? kValueTypes[type].bytes : 0;
}

const GgufTypeInfo* GgufTypeOf(uint32_t code) {
  if (code >= kTypes.size() || kTypes[code].bytes == 0) return nullptr;
  return &kTypes[code];
}

std::string GgufTypeName(uint32_t code) {
  if (const GgufTypeInfo* type = GgufTypeOf(code)) {
    return std::string(type->name);
  }
  return "type_" + std::to_string(code);
}

}  // namespace ctxfs::gguf
