// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace ctxfs {

/// Fails with kLimit if the limit of address space (ulimit -v) is too low for a
/// mount with a cache of `cache_bytes` and `threads` threads. Without the
/// check, libfuse ends the mount when a new thread gets no buffer, and
/// destroying a JSON value without memory terminates the process.
Status CheckAddressSpace(uint64_t cache_bytes, uint64_t threads);

}  // namespace ctxfs
