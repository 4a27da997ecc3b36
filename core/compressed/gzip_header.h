// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

/// The longest header of a gzip member that is read: names and comments may be
/// of any length, and extra fields have up to 64 KiB.
constexpr size_t kMaxGzipHeader = size_t{128} << 10;

/// Returns the bytes of the header of a gzip member (RFC 1952, section 2.3),
/// which `start` starts with. Fails with kCorrupt, at an offset in `start`, if
/// it is not all there, has an unknown method or flag, or, if `verify`, another
/// CRC than it says.
Result<size_t> GzipHeaderBytes(Bytes start, bool verify = true);

}  // namespace ctxfs
