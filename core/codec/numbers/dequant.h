// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"

namespace ctxfs {

/// Quantised codes come in blocks of 32: signed two's complement numbers of 2,
/// 3, 4, 6 or 8 bits, packed from the lowest bit on. This is the layout of q8,
/// q4, k6, k4, k3, k2, int8 and int4 (docs/formats/mcf.md, sections 6 and 7).
constexpr size_t kBlockCodes = 32;
/// Bytes of a dequantised block (float32).
constexpr size_t kBlockFloatBytes = kBlockCodes * sizeof(float);

/// Bytes of a block of `bits`-bit codes.
constexpr size_t BlockBytes(unsigned bits) { return size_t{4} * bits; }

/// The bits of every dequantised NaN. Processors differ in the sign and payload
/// of the NaNs that they produce.
constexpr uint32_t kDequantNan = 0x7FC00000;

/// Writes a dequantised value, little-endian.
inline void StoreFloat(std::byte* out, float value) {
  StoreLe(std::isnan(value) ? std::bit_cast<float>(kDequantNan) : value, out);
}

/// An implementation of dequantising. All implementations write the same bits.
/// `out` takes kBlockFloatBytes per block, little-endian, and needs no
/// alignment.
struct DequantKernels {
  /// value = code * scale, with one scale for each of `count` blocks. With a
  /// scale of zero every value is +0.0.
  void (*blocks)(unsigned bits, const std::byte* codes, const float* scales,
                 size_t count, std::byte* out);
  /// value = scale * (code - zero), rounded to float32 twice, for `count`
  /// blocks.
  void (*affine)(unsigned bits, const std::byte* codes, float scale, float zero,
                 size_t count, std::byte* out);
  /// value = code * scales[i / group], plus adds[i / group] unless `adds` is
  /// null, for `count` one-byte codes. `group` must be a multiple of 8, and
  /// `count` a multiple of `group`.
  void (*grouped)(const int8_t* codes, const float* scales, const float* adds,
                  size_t count, size_t group, std::byte* out);
};

extern const DequantKernels kScalarDequant;

/// Returns the fastest implementation that this processor can run: one with
/// vectors, if Highway finds a supported kind of vectors, else kScalarDequant.
const DequantKernels& FastestDequant();

}  // namespace ctxfs
