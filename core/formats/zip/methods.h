// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/codec/stream.h"

namespace ctxfs::zip {

/// Values of Member::method that the code treats specially.
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflate = 8;
constexpr uint16_t kZstd = 93;

/// Decodes the data of a member; null for kStored and kDeflate, and for a
/// method that is not supported.
StreamDecoder DecoderOf(uint16_t method);

/// Whether members of this method are decoded (docs/formats/zip.md, section 7).
bool IsSupported(uint16_t method);

/// The most bytes that a method can decode from one; 0 if it is not supported.
uint64_t MostRatio(uint16_t method);

/// "deflate"; "method_98" for one that is not supported.
std::string CodecText(uint16_t method);

/// For people: "PPMd (method 98)".
std::string MethodText(uint16_t method);

}  // namespace ctxfs::zip
