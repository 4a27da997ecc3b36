// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

/// Limits of a ZIP archive (docs/formats/zip.md, section 12).
namespace ctxfs::zip {

/// Members of one archive, and bytes of their names.
constexpr uint64_t kMaxMembers = 24'000'000;
constexpr uint64_t kMaxNameBytes = 256 * limits::kMiB;

/// Larger deflate members are decoded in parts.
constexpr uint64_t kMaxDecodedAtOnce = 64 * limits::kMiB;

/// Decoded bytes of a member that must be decoded into a temporary file.
/// Deflate members are exempt: they are decoded in parts.
constexpr uint64_t kMaxStreamed = limits::kStreamedBytes;

/// Maximum expansion of deflate: 258 bytes from two bits.
constexpr uint64_t kMaxDeflateRatio = 1032;

/// Arrays of one archive.
constexpr uint32_t kMaxArrays = 1'000'000;

/// Members that salvage finds in an archive without a directory.
constexpr uint64_t kMaxSalvaged = 1'000'000;

}  // namespace ctxfs::zip
