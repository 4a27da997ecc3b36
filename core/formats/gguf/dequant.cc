// SPDX-License-Identifier: Apache-2.0
#include "core/formats/gguf/dequant.h"

#include "core/codec/dequant.h"

namespace ctxfs::gguf {
namespace {

GgufMultiply Fastest() {
  static const GgufMultiply fastest =
      GgufMultiplyAvx2() != nullptr ? GgufMultiplyAvx2() : &GgufMultiplyScalar;
  return fastest;
}

}  // namespace

void GgufMultiplyScalar(const GgufCodes& codes, size_t count, size_t group,
                        bool adds, std::byte* out) {
  const int8_t* code = codes.codes;
  for (size_t g = 0; g < count / group; ++g) {
    const float scale = codes.scales[g];
    for (size_t i = 0; i < group; ++i) {
      float value = static_cast<float>(*code++) * scale;
      if (adds) value += codes.adds[g];
      StoreFloat(out, value);
      out += sizeof(float);
    }
  }
}

void GgufDequantizeBy(GgufMultiply multiply, const GgufType& type,
                      const std::byte* blocks, size_t count, std::byte* out) {
  GgufCodes codes;
  for (size_t i = 0; i < count; ++i) {
    type.quant.unpack(blocks, codes);
    multiply(codes, type.block, type.quant.group, type.quant.adds, out);
    blocks += type.bytes;
    out += type.block * sizeof(float);
  }
}

void GgufDequantize(const GgufType& type, const std::byte* blocks, size_t count,
                    std::byte* out) {
  GgufDequantizeBy(Fastest(), type, blocks, count, out);
}

}  // namespace ctxfs::gguf
