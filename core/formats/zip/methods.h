// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/codec/stream.h"

namespace ctxfs::zip {

/// Values of Member::method with special handling.
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflate = 8;
constexpr uint16_t kZstd = 93;

/// Returns a method's decoder; null for kStored, kDeflate and all methods that
/// are not supported.
StreamDecoder DecoderOf(uint16_t method);

/// Whether ctxfs decodes this method (docs/formats/zip.md, section 7).
bool IsSupported(uint16_t method);

/// Returns the maximum of bytes decoded from one byte; 0 if unsupported.
uint64_t MostRatio(uint16_t method);

/// Returns "deflate", for example; "method_98" if unsupported.
std::string CodecText(uint16_t method);

/// Returns a text for people: "PPMd (method 98)".
std::string MethodText(uint16_t method);

}  // namespace ctxfs::zip
