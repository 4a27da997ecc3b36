// SPDX-License-Identifier: Apache-2.0
//
// The types of values and of tensors (docs/formats/gguf.md, sections 3 and 5).
#include <array>

#include "core/formats/gguf/header.h"
#include "core/formats/gguf/unpack.h"

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

// GgufQuant::adds: a value is a code times a scale (kScaled), or that product
// plus a minimum (kAdds).
constexpr bool kScaled = false;
constexpr bool kAdds = true;

// Indexed by code; removed types have no name.
constexpr std::array<GgufType, 43> kTypes = {{
    {"f32", 1, 4, DType::kF32},
    {"f16", 1, 2, DType::kF16},
    {"q4_0", 32, 18, {}, {&UnpackQ40, 32, kScaled, 1}},
    {"q4_1", 32, 20, {}, {&UnpackQ41, 32, kAdds}},
    {},
    {},
    {"q5_0", 32, 22, {}, {&UnpackQ50, 32}},
    {"q5_1", 32, 24, {}, {&UnpackQ51, 32, kAdds}},
    {"q8_0", 32, 34, {}, {&UnpackQ80, 32, kScaled, 1}},
    {"q8_1", 32, 36},
    {"q2_k", 256, 84, {}, {&UnpackQ2K, 16, kAdds}},
    {"q3_k", 256, 110, {}, {&UnpackQ3K, 16}},
    {"q4_k", 256, 144, {}, {&UnpackQ4K, 32, kAdds, 2}},
    {"q5_k", 256, 176, {}, {&UnpackQ5K, 32, kAdds}},
    {"q6_k", 256, 210, {}, {&UnpackQ6K, 16, kScaled, 1, 208}},
    {"q8_k", 256, 292, {}, {&UnpackQ8K, 256}},
    {"iq2_xxs", 256, 66, {}, {&UnpackIq2Xxs, 32}},
    {"iq2_xs", 256, 74, {}, {&UnpackIq2Xs, 16}},
    {"iq3_xxs", 256, 98, {}, {&UnpackIq3Xxs, 32}},
    {"iq1_s", 256, 50, {}, {&UnpackIq1S, 32}},
    {"iq4_nl", 32, 18, {}, {&UnpackIq4Nl, 32}},
    {"iq3_s", 256, 110, {}, {&UnpackIq3S, 32}},
    {"iq2_s", 256, 82, {}, {&UnpackIq2S, 16}},
    {"iq4_xs", 256, 136, {}, {&UnpackIq4Xs, 32}},
    {"i8", 1, 1, DType::kI8},
    {"i16", 1, 2, DType::kI16},
    {"i32", 1, 4, DType::kI32},
    {"i64", 1, 8, DType::kI64},
    {"f64", 1, 8, DType::kF64},
    {"iq1_m", 256, 56, {}, {&UnpackIq1M, 16}},
    {"bf16", 1, 2, DType::kBf16},
    {},
    {},
    {},
    {"tq1_0", 256, 54, {}, {&UnpackTq10, 256}},
    {"tq2_0", 256, 66, {}, {&UnpackTq20, 256}},
    {},
    {},
    {},
    {"mxfp4", 32, 17, {}, {&UnpackMxfp4, 32, kScaled, 0}},
    {"nvfp4", 64, 36, {}, {&UnpackNvfp4, 16, kScaled, 0}},
    {"q1_0", 128, 18, {}, {&UnpackQ10, 128}},
    {"q2_0", 64, 18, {}, {&UnpackQ20, 64}},
}};

}  // namespace

std::string_view GgufValueTypeName(uint32_t type) {
  return type < kValueTypes.size() ? kValueTypes[type].name : "";
}

uint64_t GgufValueBytes(uint32_t type) {
  return type < kValueTypes.size() ? kValueTypes[type].bytes : 0;
}

const GgufType* GgufTypeOf(uint32_t code) {
  if (code >= kTypes.size() || kTypes[code].bytes == 0) return nullptr;
  return &kTypes[code];
}

const GgufType* GgufQuantOf(uint32_t code) {
  const GgufType* type = GgufTypeOf(code);
  if (type == nullptr || type->quant.unpack == nullptr) return nullptr;
  return type;
}

std::string GgufTypeName(uint32_t code) {
  if (const GgufType* type = GgufTypeOf(code)) {
    return std::string(type->name);
  }
  return "type_" + std::to_string(code);
}

}  // namespace ctxfs::gguf
