// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace ctxfs {

/// Bounds the memory of large Buffers that is kept for the next one, 32 MiB
/// unless called. It counts against no cache.
void BoundSpareMemory(size_t bytes);

}  // namespace ctxfs
