// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/container/archive/packed_attributes.h"
#include "core/formats/zip/directory.h"
#include "core/io/identity.h"

/// Modification times of members (docs/formats/zip.md, section 4).
namespace ctxfs::zip {

/// Sets the time from MS-DOS time and date, 16 bits each: steps of two seconds,
/// in the local time of the archive's writer. An invalid date, such as 30
/// February, sets nothing.
void TakeDosTime(unsigned time, unsigned date, Member& member);

/// Sets the time (UTC) from the first of the extra fields 0x5455, 0x000A and
/// 0x5855, in this order, that has a modification time.
void TakeExtraTime(Bytes extra, Member& member);

/// Returns the time of a member in UTC. Interprets a local time in the time
/// zone in which the process was started.
std::optional<FileTime> TimeOf(const PackedAttributes& attributes);

}  // namespace ctxfs::zip
