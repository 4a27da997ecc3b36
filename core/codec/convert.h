// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace ctxfs {

/// Little-endian halves to little-endian floats; `out` is twice as long as
/// `in`. Same bits as HalfToFloat, on every machine.
void HalvesToFloats(Bytes in, MutableBytes out);

/// Unsigned bytes to little-endian floats, `out` four times as long as `in`:
/// float(q) * scale + min, rounded after the product and after the sum.
void BytesToFloats(Bytes in, float scale, float min, MutableBytes out);

/// What the above do where the processor has nothing better.
void HalvesToFloatsScalar(Bytes in, MutableBytes out);
void BytesToFloatsScalar(Bytes in, float scale, float min, MutableBytes out);

/// Little-endian 32-bit words from one of their four byte planes: byte `plane`
/// of out's word i becomes dict[code i], for all out.size() / 4 words. Codes
/// are `width` bits wide, 1 to 8, most significant bit first; the first starts
/// at bit `bit` of `codes`, 0 to 7. `codes` holds all bits of them; bytes that
/// follow in it are looked at but mean nothing. False if a code is not below
/// `dict_size`; `dict` has 256 entries nevertheless.
bool UnpackPlane(Bytes codes, unsigned bit, unsigned width, const uint8_t* dict,
                 unsigned dict_size, unsigned plane, MutableBytes out);

}  // namespace ctxfs
