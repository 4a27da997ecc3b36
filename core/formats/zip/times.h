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

/// Sets the time from the time and the date of MS-DOS, 16 bits each, which
/// count in steps of two seconds and in the local time of the archive's writer.
/// An invalid date, such as 30 February, sets nothing.
void TakeDosTime(unsigned time, unsigned date, Member& member);

/// Takes the time, in UTC, of extra field 0x5455, 0x000A or 0x5855, whichever
/// is there first in this order.
void TakeExtraTime(Bytes extra, Member& member);

/// The time of a member in UTC. A local time is taken for one of the time zone
/// that the process was started in.
std::optional<FileTime> TimeOf(const PackedAttributes& attributes);

}  // namespace ctxfs::zip
