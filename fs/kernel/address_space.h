// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace ctxfs {

/// Fails with kLimit if the process may not have the address space (ulimit -v)
/// that a mount with a cache of `cache_bytes` and `threads` threads needs.
/// libfuse ends a mount when a new thread gets no buffer, and a JSON value
/// cannot be destroyed without memory.
Status CheckAddressSpace(uint64_t cache_bytes, uint64_t threads);

}  // namespace ctxfs
