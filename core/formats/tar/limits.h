// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

/// Limits of an archive (docs/formats/tar.md, section 10).
namespace ctxfs::tar {

/// Members of one archive, including directories.
constexpr uint32_t kMaxMembers = 24'000'000;
/// Bytes of the names of all members and of the targets of symbolic links.
constexpr uint64_t kMaxNameBytes = 256 * limits::kMiB;
/// Bytes of one long name, or of one pax header.
constexpr uint64_t kMaxExtension = limits::kMiB;
/// Headers of type x, X, L and K before one member.
constexpr unsigned kMaxChained = 16;
/// Stored parts of all sparse members, 24 bytes each.
constexpr uint64_t kMaxSparseParts = 1'000'000;
/// Bytes of holes in all sparse members together: at most kMaxHoles, plus
/// kMaxHolesPerByte for each byte of the archive. kMaxHolesPerByte is the most
/// that deflate can make of one byte, so except for kMaxHoles, holes expand an
/// archive no more than compression could.
constexpr uint64_t kMaxHoles = 64 * limits::kGiB;
constexpr uint64_t kMaxHolesPerByte = 1032;
/// Bytes of zeros after which no further archive is searched.
constexpr uint64_t kMaxZeros = limits::kMiB;
/// Bytes of samples.jsonl.
constexpr uint64_t kMaxSampleText = limits::kGiB;
/// Members of one sample.
constexpr uint32_t kMaxOfSample = 65'536;

}  // namespace ctxfs::tar
