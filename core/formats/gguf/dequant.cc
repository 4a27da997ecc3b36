// SPDX-License-Identifier: Apache-2.0
#include "core/formats/gguf/dequant.h"

namespace ctxfs::gguf {

void GgufDequantizeBy(const DequantKernels& kernels, const GgufType& type,
                      const std::byte* blocks, size_t count, std::byte* out) {
  GgufCodes codes;
  const float* const adds = type.quant.adds ? codes.adds : nullptr;
  for (size_t i = 0; i < count; ++i) {
    type.quant.unpack(blocks, codes);
    kernels.grouped(codes.codes, codes.scales, adds, type.block,
                    type.quant.group, out);
    blocks += type.bytes;
    out += type.block * sizeof(float);
  }
}

void GgufDequantize(const GgufType& type, const std::byte* blocks, size_t count,
                    std::byte* out) {
  GgufDequantizeBy(FastestDequant(), type, blocks, count, out);
}

}  // namespace ctxfs::gguf
