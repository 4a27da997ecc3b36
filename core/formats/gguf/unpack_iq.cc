// SPDX-License-Identifier: Apache-2.0
//
// Unpacks blocks of 256 elements whose codes index code books
// (docs/formats/gguf.md, section 6).
#include <array>
#include <bit>

#include "core/formats/gguf/grids.h"
#include "core/formats/gguf/unpack.h"

namespace ctxfs::gguf {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101U;

/// Eight mask bytes for each byte of signs: 0xFF for a set bit, else 0.
constexpr auto kSignMasks = [] {
  std::array<uint64_t, 256> masks{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned i = 0; i < 8; ++i) {
      if ((byte >> i & 1U) != 0) masks[byte] |= uint64_t{0xFF} << (8 * i);
    }
  }
  return masks;
}();

/// Masks for seven signs and an eighth that makes the number of set bits even:
/// P(x) in docs/formats/gguf.md.
constexpr auto kEvenSignMasks = [] {
  std::array<uint64_t, 128> masks{};
  for (unsigned x = 0; x < 128; ++x) {
    const auto bits = static_cast<unsigned>(std::popcount(x));
    masks[x] = kSignMasks[x | (bits & 1U) << 7];
  }
  return masks;
}();

void Store8(uint64_t bytes, int8_t* codes) {
  for (size_t i = 0; i < 8; ++i) {
    codes[i] = static_cast<int8_t>(static_cast<uint8_t>(bytes >> (8 * i)));
  }
}

/// Stores eight values of a code book, negated where the mask is 0xFF. The
/// carry of the negation stays within its byte, because no value is 0.
void StoreSigned(uint64_t values, uint64_t mask, int8_t* codes) {
  Store8((values ^ mask) + (mask & kOnes), codes);
}

uint64_t Join(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

/// Unpacks a 4-bit scale for every 16 elements.
void ScalesIq2(const std::byte* block, size_t at, float d, GgufCodes& out) {
  for (size_t g = 0; g < 16; ++g) {
    const unsigned scale = HalfByteAt(block, at + g / 2, g);
    out.scales[g] = d * (0.5F + static_cast<float>(scale)) * 0.25F;
  }
}

/// Stores 8 * (grid + D); D is 1/8, or -1/8 if `minus`.
void StoreIq1(unsigned index, bool minus, int8_t* codes) {
  const uint64_t values = kIq1SGrid[index];
  const int delta = minus ? -1 : 1;
  for (size_t i = 0; i < 8; ++i) {
    const auto value =
        static_cast<int8_t>(static_cast<uint8_t>(values >> (8 * i)));
    codes[i] = static_cast<int8_t>(value + delta);
  }
}

}  // namespace

void UnpackIq4Xs(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 0);
  const unsigned high = LoadLe<uint16_t>(block + 2);
  for (size_t s = 0; s < 8; ++s) {
    const unsigned low = HalfByteAt(block, 4 + s / 2, s);
    const int scale = static_cast<int>(low | (high >> (2 * s) & 3U) << 4) - 32;
    out.scales[s] = d * static_cast<float>(scale);
    NibblesOf<16>(block + 8 + 16 * s, kIq4Values, out.codes + 32 * s);
  }
}

void UnpackIq2Xxs(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 0);
  for (size_t s = 0; s < 8; ++s) {
    const std::byte* group = block + 2 + 8 * s;
    const auto word = LoadLe<uint32_t>(group + 4);
    out.scales[s] = d * (0.5F + static_cast<float>(word >> 28)) * 0.25F;
    for (unsigned q = 0; q < 4; ++q) {
      StoreSigned(kIq2XxsGrid[ByteAt(group, q)],
                  kEvenSignMasks[word >> (7 * q) & 127U],
                  out.codes + 32 * s + 8 * q);
    }
  }
}

void UnpackIq2Xs(const std::byte* block, GgufCodes& out) {
  ScalesIq2(block, 66, HalfAt(block, 0), out);
  for (size_t g = 0; g < 32; ++g) {
    const unsigned word = LoadLe<uint16_t>(block + 2 + 2 * g);
    StoreSigned(kIq2XsGrid[word & 511U], kEvenSignMasks[word >> 9],
                out.codes + 8 * g);
  }
}

void UnpackIq2S(const std::byte* block, GgufCodes& out) {
  ScalesIq2(block, 74, HalfAt(block, 0), out);
  for (size_t g = 0; g < 32; ++g) {
    const unsigned high = ByteAt(block, 66 + g / 4) >> (2 * (g % 4)) & 3U;
    StoreSigned(kIq2SGrid[ByteAt(block, 2 + g) | high << 8],
                kSignMasks[ByteAt(block, 34 + g)], out.codes + 8 * g);
  }
}

void UnpackIq3Xxs(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 0);
  for (size_t s = 0; s < 8; ++s) {
    const auto word = LoadLe<uint32_t>(block + 66 + 4 * s);
    out.scales[s] = d * (0.5F + static_cast<float>(word >> 28)) * 0.5F;
    for (unsigned q = 0; q < 4; ++q) {
      const size_t at = 2 + 8 * s + 2 * q;
      StoreSigned(Join(kIq3XxsGrid[ByteAt(block, at)],
                       kIq3XxsGrid[ByteAt(block, at + 1)]),
                  kEvenSignMasks[word >> (7 * q) & 127U],
                  out.codes + 32 * s + 8 * q);
    }
  }
}

void UnpackIq3S(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 0);
  for (size_t s = 0; s < 8; ++s) {
    const unsigned scale = HalfByteAt(block, 106 + s / 2, s);
    out.scales[s] = d * static_cast<float>(1 + 2 * scale);
  }
  for (size_t g = 0; g < 32; ++g) {
    const size_t k = 2 * g;
    const unsigned high = ByteAt(block, 66 + g / 4) >> (k % 8);
    const unsigned first = ByteAt(block, 2 + k) | (high & 1U) << 8;
    const unsigned second = ByteAt(block, 3 + k) | (high >> 1 & 1U) << 8;
    StoreSigned(Join(kIq3SGrid[first], kIq3SGrid[second]),
                kSignMasks[ByteAt(block, 74 + g)], out.codes + 8 * g);
  }
}

void UnpackIq1S(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 0);
  for (size_t s = 0; s < 8; ++s) {
    const unsigned word = LoadLe<uint16_t>(block + 34 + 2 * s);
    const unsigned scale = 2 * (word >> 12 & 7U) + 1;
    out.scales[s] = d * static_cast<float>(scale) * 0.125F;
    for (unsigned q = 0; q < 4; ++q) {
      const unsigned index =
          ByteAt(block, 2 + 4 * s + q) | (word >> (3 * q) & 7U) << 8;
      StoreIq1(index, (word & 0x8000U) != 0, out.codes + 32 * s + 8 * q);
    }
  }
}

void UnpackIq1M(const std::byte* block, GgufCodes& out) {
  unsigned half = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned word = LoadLe<uint16_t>(block + 48 + 2 * i);
    half |= word >> 12 << (4 * i);
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned scale = 2 * (word >> (3 * k) & 7U) + 1;
      out.scales[4 * i + k] = static_cast<float>(scale) * 0.125F;
    }
  }
  const float d = HalfToFloat(static_cast<uint16_t>(half));
  for (size_t g = 0; g < 16; ++g) out.scales[g] = d * out.scales[g];
  for (size_t g = 0; g < 32; ++g) {
    const unsigned high = HalfByteAt(block, 32 + g / 2, g);
    StoreIq1(ByteAt(block, g) | (high & 7U) << 8, (high & 8U) != 0,
             out.codes + 8 * g);
  }
}

}  // namespace ctxfs::gguf
