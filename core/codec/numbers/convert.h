// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace ctxfs {

/// Converts little-endian float16 to little-endian float32; `out` is twice as
/// long as `in`. The bits equal HalfToFloat on every machine.
void HalvesToFloats(Bytes in, MutableBytes out);

/// Dequantises unsigned bytes q to little-endian float32: q * scale + min,
/// rounded after the product and after the sum. On every machine, a NaN has the
/// bits that amd64 computes. `out` is four times as long as `in`.
void BytesToFloats(Bytes in, float scale, float min, MutableBytes out);

/// Like HalvesToFloats and BytesToFloats, without SIMD instructions.
void HalvesToFloatsScalar(Bytes in, MutableBytes out);
void BytesToFloatsScalar(Bytes in, float scale, float min, MutableBytes out);

/// Decodes one of the four byte planes of little-endian 32-bit words: sets byte
/// `plane` of word i of `out` to dict[code i], for all out.size() / 4 words.
/// Codes have `width` bits, 1 to 8, most significant bit first; the first
/// starts at bit `bit` of `codes`, 0 to 7. `codes` must contain all codes;
/// further bytes of `codes` have no effect. Returns false if a code is not
/// below `dict_size`. `dict` must always have 256 entries, because codes are
/// checked after use.
bool UnpackPlane(Bytes codes, unsigned bit, unsigned width, const uint8_t* dict,
                 unsigned dict_size, unsigned plane, MutableBytes out);

}  // namespace ctxfs
