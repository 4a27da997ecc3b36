// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

/// Fills `out` with the bytes that the file of `descriptor` has at `offset`
/// now, whatever it had when it was opened. Returns their number, which is
/// smaller only at its end. Fails with kIo.
Result<size_t> ReadNow(int descriptor, uint64_t offset, MutableBytes out);

}  // namespace ctxfs
