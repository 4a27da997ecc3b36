// SPDX-License-Identifier: Apache-2.0
//
// Unpacks types with one scale per block, or one for each 16 elements
// (docs/formats/gguf.md, section 6).
#include <bit>
#include <cstring>

#include "core/formats/gguf/unpack.h"

namespace ctxfs::gguf {
namespace {

/// Unpacks 32 codes from 16 bytes, first the low halves, then the high halves,
/// and subtracts `offset` from each.
void Nibbles(const std::byte* __restrict in, int offset,
             int8_t* __restrict codes) {
  for (size_t i = 0; i < 16; ++i) {
    const int pair = std::to_integer<int>(in[i]);
    codes[i] = static_cast<int8_t>((pair & 15) - offset);
    codes[16 + i] = static_cast<int8_t>((pair >> 4) - offset);
  }
}

/// Adds bit i of `bits`, times 16, to code i.
void AddFifthBits(uint32_t bits, int8_t* __restrict codes) {
  for (unsigned i = 0; i < 32; ++i) {
    const int bit = static_cast<int>(bits >> i & 1U);
    codes[i] = static_cast<int8_t>(codes[i] + 16 * bit);
  }
}

/// E2M1 values, doubled; code 8 is +0.
constexpr int8_t kE2M1[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                              0, -1, -2, -3, -4, -6, -8, -12};

/// Returns half the value of an unsigned E4M3 number, converted like llama.cpp:
/// 0x7F (NaN) becomes 0; in other codes bit 7 is ignored, so 0xFF gives 240.
float HalfOfE4M3(unsigned code) {
  if (code == 0x7F) return 0;
  const unsigned exponent = code >> 3 & 15U;
  const auto mantissa = static_cast<float>(code & 7U);
  if (exponent == 0) return mantissa * 0x1p-10F;
  return (8 + mantissa) * std::bit_cast<float>((exponent + 127 - 11) << 23);
}

}  // namespace

void UnpackQ40(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  Nibbles(block + 2, 8, out.codes);
}

void UnpackQ41(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  out.adds[0] = HalfAt(block, 2);
  Nibbles(block + 4, 0, out.codes);
}

void UnpackQ50(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  Nibbles(block + 6, 16, out.codes);
  AddFifthBits(LoadLe<uint32_t>(block + 2), out.codes);
}

void UnpackQ51(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  out.adds[0] = HalfAt(block, 2);
  Nibbles(block + 8, 0, out.codes);
  AddFifthBits(LoadLe<uint32_t>(block + 4), out.codes);
}

void UnpackQ80(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  std::memcpy(out.codes, block + 2, 32);
}

void UnpackQ8K(const std::byte* block, GgufCodes& out) {
  out.scales[0] = std::bit_cast<float>(LoadLe<uint32_t>(block));
  std::memcpy(out.codes, block + 4, 256);
}

void UnpackIq4Nl(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  NibblesOf<16>(block + 2, kIq4Values, out.codes);
}

void UnpackMxfp4(const std::byte* block, GgufCodes& out) {
  const uint32_t exponent = ByteAt(block, 0);
  // 2^(exponent - 128): subnormal for exponents 0 and 1.
  const uint32_t bits =
      exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23;
  out.scales[0] = std::bit_cast<float>(bits);
  NibblesOf<16>(block + 1, kE2M1, out.codes);
}

void UnpackNvfp4(const std::byte* block, GgufCodes& out) {
  for (size_t s = 0; s < 4; ++s) {
    out.scales[s] = HalfOfE4M3(ByteAt(block, s));
    NibblesOf<8>(block + 4 + 8 * s, kE2M1, out.codes + 16 * s);
  }
}

void UnpackQ10(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  for (size_t i = 0; i < 16; ++i) {
    const unsigned bits = ByteAt(block, 2 + i);
    for (unsigned k = 0; k < 8; ++k) {
      out.codes[8 * i + k] = (bits >> k & 1U) != 0 ? 1 : -1;
    }
  }
}

void UnpackQ20(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 0);
  for (size_t i = 0; i < 16; ++i) {
    const unsigned bits = ByteAt(block, 2 + i);
    for (unsigned k = 0; k < 4; ++k) {
      const int code = static_cast<int>(bits >> (2 * k) & 3U) - 1;
      out.codes[4 * i + k] = static_cast<int8_t>(code);
    }
  }
}

}  // namespace ctxfs::gguf
