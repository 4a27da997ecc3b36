// SPDX-License-Identifier: Apache-2.0
#include "core/formats/gguf/dequant.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/codec/dequant.h"

namespace ctxfs::gguf {
namespace {

constexpr uint32_t kCodes = 64;

std::array<const GgufQuant*, kCodes> ByCode() {
  std::array<const GgufQuant*, kCodes> quants{};
  const auto add = [&quants](const GgufQuant* first, size_t count) {
    for (size_t i = 0; i < count; ++i) quants[first[i].code] = &first[i];
  };
  add(kGgufSmallQuants, kGgufSmallQuantCount);
  add(kGgufKQuants, kGgufKQuantCount);
  add(kGgufIqQuants, kGgufIqQuantCount);
  return quants;
}

GgufMultiply Fastest() {
  static const GgufMultiply fastest =
      GgufMultiplyAvx2() != nullptr ? GgufMultiplyAvx2() : &GgufMultiplyScalar;
  return fastest;
}

}  // namespace

const GgufQuant* GgufQuantOf(uint32_t code) {
  static const std::array<const GgufQuant*, kCodes> quants = ByCode();
  return code < kCodes ? quants[code] : nullptr;
}

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

void GgufDequantizeBy(GgufMultiply multiply, const GgufQuant& quant,
                      const std::byte* blocks, size_t count, std::byte* out) {
  GgufCodes codes;
  for (size_t i = 0; i < count; ++i) {
    quant.unpack(blocks, codes);
    multiply(codes, quant.block, quant.group, quant.adds, out);
    blocks += quant.bytes;
    out += quant.block * sizeof(float);
  }
}

void GgufDequantize(const GgufQuant& quant, const std::byte* blocks,
                    size_t count, std::byte* out) {
  GgufDequantizeBy(Fastest(), quant, blocks, count, out);
}

}  // namespace ctxfs::gguf
