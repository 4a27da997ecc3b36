// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/bytes.h"
#include "core/base/json.h"
#include "core/base/result.h"

namespace ctxfs {

/// Whether `bytes` begin as a cowrie value in its frame does.
bool LooksLikeCowrie(Bytes bytes);

/// One cowrie gen2 value in its frame, compressed or not, as JSON (docs/
/// sampleshard.md, section 3): all of `bytes`. Fails with kCorrupt, kVersion,
/// or kLimit (limits::kCowrie...); offsets are within `bytes` without the frame
/// header, or within what they decompress to.
Result<Json> DecodeCowrie(Bytes bytes);

}  // namespace ctxfs
