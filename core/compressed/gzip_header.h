// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

/// Bytes of the longest supported header of a gzip member. The format does not
/// limit names and comments; an extra field has up to 64 KiB.
constexpr size_t kMaxGzipHeader = size_t{128} << 10;

/// Returns the length of the gzip member header at the start of `start` (RFC
/// 1952, section 2.3). Fails with kCorrupt and an offset in `start` if the
/// header is truncated, has an unknown method or flag, or, with `verify`, does
/// not match its CRC.
Result<size_t> GzipHeaderBytes(Bytes start, bool verify = true);

}  // namespace ctxfs
