// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

/// Limits of a ZIP archive (docs/formats/zip.md, section 12).
namespace ctxfs::zip {

/// Members of one archive.
constexpr uint64_t kMaxMembers = 24'000'000;
/// Bytes of the names of all members.
constexpr uint64_t kMaxNameBytes = 256 * limits::kMiB;

/// Decoded bytes of a deflate member that is decoded as a whole. Larger ones
/// are decoded in parts.
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
