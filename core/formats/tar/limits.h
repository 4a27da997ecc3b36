// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

/// Limits of an archive (docs/formats/tar.md, section 10).
namespace ctxfs::tar {

/// Members and directories of one archive, and bytes of their names.
constexpr uint32_t kMostMembers = 24'000'000;
constexpr uint64_t kMostNameBytes = 256 * limits::kMiB;
/// Bytes of one long name, or of one pax header.
constexpr uint64_t kMostExtension = limits::kMiB;
/// Headers of type x, L and K before one member.
constexpr unsigned kMostChained = 16;
/// Stored parts of all sparse members, 24 bytes each.
constexpr uint64_t kMostSparseParts = 1'000'000;
/// Bytes of holes in all sparse members together: at most kMostHoles, plus
/// kMostHolesPerByte for each byte of the archive, the most that deflate makes
/// of one.
constexpr uint64_t kMostHoles = 64 * limits::kGiB;
constexpr uint64_t kMostHolesPerByte = 1032;
/// Bytes of zeros after which no further archive is looked for.
constexpr uint64_t kMostZeros = limits::kMiB;
/// Bytes of samples.jsonl, and members of one of its samples.
constexpr uint64_t kMostSampleText = limits::kGiB;
constexpr uint32_t kMostOfSample = 65'536;

}  // namespace ctxfs::tar
