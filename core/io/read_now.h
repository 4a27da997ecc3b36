// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

/// Fills `out` with the current bytes of the file at `offset`, even if the file
/// has changed since it was opened. Returns their number, which is smaller only
/// at the end of the file. Fails with kIo.
Result<size_t> ReadNow(int descriptor, uint64_t offset, MutableBytes out);

}  // namespace ctxfs
