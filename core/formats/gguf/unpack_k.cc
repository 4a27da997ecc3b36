// SPDX-License-Identifier: Apache-2.0
//
// Unpacks blocks of 256 elements with packed scales, and ternary blocks
// (docs/formats/gguf.md, section 6).

#include "core/formats/gguf/unpack.h"

namespace ctxfs::gguf {
namespace {

/// Unpacks 256 codes of 2 bits from 64 bytes: code 128n + 32j + l is bits 2j
/// and 2j + 1 of byte 32n + l.
void PairsOfBits(const std::byte* __restrict in, int8_t* __restrict codes) {
  for (size_t n = 0; n < 2; ++n) {
    for (unsigned j = 0; j < 4; ++j) {
      for (size_t l = 0; l < 32; ++l) {
        const unsigned byte = ByteAt(in, 32 * n + l);
        codes[128 * n + 32 * j + l] = static_cast<int8_t>(byte >> (2 * j) & 3U);
      }
    }
  }
}

/// Unpacks 256 codes of 4 bits from 128 bytes. Each 32 bytes hold 64 codes:
/// first the low halves of the bytes, then the high halves.
void NibblesOf64(const std::byte* __restrict in, int8_t* __restrict codes) {
  for (size_t k = 0; k < 4; ++k) {
    for (size_t l = 0; l < 32; ++l) {
      const unsigned pair = ByteAt(in, 32 * k + l);
      codes[64 * k + l] = static_cast<int8_t>(pair & 15U);
      codes[64 * k + 32 + l] = static_cast<int8_t>(pair >> 4);
    }
  }
}

/// Adds `value` to code 32k + l if bit k of byte l is set.
void AddBits(const std::byte* __restrict in, int value,
             int8_t* __restrict codes) {
  for (unsigned k = 0; k < 8; ++k) {
    for (size_t l = 0; l < 32; ++l) {
      const int bit = static_cast<int>(ByteAt(in, l) >> k & 1U);
      codes[32 * k + l] = static_cast<int8_t>(codes[32 * k + l] + value * bit);
    }
  }
}

void Subtract(int value, int8_t* __restrict codes) {
  for (size_t i = 0; i < 256; ++i) {
    codes[i] = static_cast<int8_t>(codes[i] - value);
  }
}

/// Unpacks eight scales and minima of q4_k and q5_k: 6 bits each, 12 bytes.
void Scales4K(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 0);
  const float dmin = HalfAt(block, 2);
  const std::byte* b = block + 4;
  for (size_t s = 0; s < 8; ++s) {
    unsigned scale = ByteAt(b, s) & 63U;
    unsigned min = ByteAt(b, s + 4) & 63U;
    if (s >= 4) {
      scale = (ByteAt(b, s + 4) & 15U) | ByteAt(b, s - 4) >> 6 << 4;
      min = ByteAt(b, s + 4) >> 4 | ByteAt(b, s) >> 6 << 4;
    }
    out.scales[s] = d * static_cast<float>(scale);
    out.adds[s] = -(dmin * static_cast<float>(min));
  }
}

/// Unpacks 6-bit codes: the low 4 bits from 128 bytes, the high 2 from 64.
void CodesQ6K(const std::byte* __restrict low, const std::byte* __restrict high,
              int8_t* __restrict codes) {
  for (size_t n = 0; n < 2; ++n) {
    for (unsigned j = 0; j < 4; ++j) {
      for (size_t l = 0; l < 32; ++l) {
        const unsigned pair = ByteAt(low, 64 * n + 32 * (j % 2) + l);
        const unsigned top = ByteAt(high, 32 * n + l) >> (2 * j) & 3U;
        const unsigned bottom = pair >> (j < 2 ? 0 : 4) & 15U;
        const int code = static_cast<int>(bottom | top << 4) - 32;
        codes[128 * n + 32 * j + l] = static_cast<int8_t>(code);
      }
    }
  }
}

/// Returns trit n of a byte, minus one; `power` is 3^n. The five trits are the
/// first digits of byte / 256 in base 3, the most significant one first.
int8_t Trit(unsigned byte, unsigned power) {
  const unsigned fraction = byte * power & 255U;
  return static_cast<int8_t>(static_cast<int>(fraction * 3 >> 8) - 1);
}

}  // namespace

void UnpackQ2K(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 80);
  const float dmin = HalfAt(block, 82);
  for (size_t g = 0; g < 16; ++g) {
    const unsigned scale = ByteAt(block, g);
    out.scales[g] = d * static_cast<float>(scale & 15U);
    out.adds[g] = -(dmin * static_cast<float>(scale >> 4));
  }
  PairsOfBits(block + 16, out.codes);
}

void UnpackQ3K(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 108);
  for (size_t g = 0; g < 16; ++g) {
    const unsigned low = HalfByteAt(block, 96 + g % 8, g / 8);
    const unsigned high = ByteAt(block, 104 + g % 4) >> (2 * (g / 4)) & 3U;
    const int scale = static_cast<int>(low | high << 4) - 32;
    out.scales[g] = d * static_cast<float>(scale);
  }
  PairsOfBits(block + 32, out.codes);
  Subtract(4, out.codes);
  AddBits(block, 4, out.codes);
}

void UnpackQ4K(const std::byte* block, GgufCodes& out) {
  Scales4K(block, out);
  NibblesOf64(block + 16, out.codes);
}

void UnpackQ5K(const std::byte* block, GgufCodes& out) {
  Scales4K(block, out);
  NibblesOf64(block + 48, out.codes);
  AddBits(block + 16, 16, out.codes);
}

void UnpackQ6K(const std::byte* block, GgufCodes& out) {
  const float d = HalfAt(block, 208);
  for (size_t g = 0; g < 16; ++g) {
    out.scales[g] = d * static_cast<float>(SignedByteAt(block, 192 + g));
  }
  CodesQ6K(block, block + 128, out.codes);
}

void UnpackTq20(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 64);
  PairsOfBits(block, out.codes);
  Subtract(1, out.codes);
}

void UnpackTq10(const std::byte* block, GgufCodes& out) {
  out.scales[0] = HalfAt(block, 52);
  unsigned power = 1;
  for (size_t k = 0; k < 5; ++k, power *= 3) {
    for (size_t l = 0; l < 32; ++l) {
      out.codes[32 * k + l] = Trit(ByteAt(block, l), power);
    }
    for (size_t l = 0; l < 16; ++l) {
      out.codes[160 + 16 * k + l] = Trit(ByteAt(block, 32 + l), power);
    }
    for (size_t l = 0; l < 4 && k < 4; ++l) {
      out.codes[240 + 4 * k + l] = Trit(ByteAt(block, 48 + l), power);
    }
  }
}

}  // namespace ctxfs::gguf
