// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/dequant.h"

namespace ctxfs {
namespace {

// Eight codes fill whole bytes, whatever their width.
constexpr size_t kGroup = 8;
constexpr size_t kGroups = kBlockCodes / kGroup;

/// Applies `value` to each of the 32 codes at `codes`.
template <unsigned kBits, typename Value>
void Block(const std::byte* codes, std::byte* out, const Value& value) {
  for (size_t group = 0; group < kGroups; ++group) {
    uint64_t word = 0;
    for (unsigned i = 0; i < kBits; ++i) {
      word |= std::to_integer<uint64_t>(codes[group * kBits + i]) << (8 * i);
    }
    for (unsigned i = 0; i < kGroup; ++i) {
      // Sign extension: shifts the code to the top and down again.
      const auto high = static_cast<int64_t>(word << (64 - kBits * (i + 1)));
      const auto code = static_cast<float>(high >> (64 - kBits));
      StoreFloat(out, value(code));
      out += sizeof(float);
    }
  }
}

template <unsigned kBits>
void BlocksOf(const std::byte* codes, const float* scales, size_t count,
              std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    const float scale = scales[i];
    Block<kBits>(codes, out, [scale](float code) {
      return scale == 0.0F ? 0.0F : code * scale;
    });
    codes += BlockBytes(kBits);
    out += kBlockFloatBytes;
  }
}

void Blocks(unsigned bits, const std::byte* codes, const float* scales,
            size_t count, std::byte* out) {
  switch (bits) {
    case 2:
      return BlocksOf<2>(codes, scales, count, out);
    case 3:
      return BlocksOf<3>(codes, scales, count, out);
    case 4:
      return BlocksOf<4>(codes, scales, count, out);
    case 6:
      return BlocksOf<6>(codes, scales, count, out);
    default:
      return BlocksOf<8>(codes, scales, count, out);
  }
}

template <unsigned kBits>
void AffineOf(const std::byte* codes, float scale, float zero, size_t count,
              std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    Block<kBits>(codes, out,
                 [scale, zero](float code) { return scale * (code - zero); });
    codes += BlockBytes(kBits);
    out += kBlockFloatBytes;
  }
}

void Affine(unsigned bits, const std::byte* codes, float scale, float zero,
            size_t count, std::byte* out) {
  if (bits == 4) return AffineOf<4>(codes, scale, zero, count, out);
  return AffineOf<8>(codes, scale, zero, count, out);
}

void Grouped(const int8_t* codes, const float* scales, const float* adds,
             size_t count, size_t group, std::byte* out) {
  for (size_t g = 0; g < count / group; ++g) {
    for (size_t i = 0; i < group; ++i) {
      float value = static_cast<float>(*codes++) * scales[g];
      if (adds != nullptr) value += adds[g];
      StoreFloat(out, value);
      out += sizeof(float);
    }
  }
}

}  // namespace

const DequantKernels kScalarDequant{&Blocks, &Affine, &Grouped};

}  // namespace ctxfs
