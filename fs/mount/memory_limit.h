// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ctxfs {

/// Bytes of memory that this process may take: those of the machine, or fewer
/// if a control group that it is in (memory.max, memory.limit_in_bytes) or the
/// limit of its address space (ulimit -v) says so. `root` is where /proc and
/// /sys are.
uint64_t MemoryLimit(const std::string& root = "");

/// Bytes of the cache unless cache= is given: an eighth of that memory, at
/// least 64 MiB and at most 2 GiB.
uint64_t DefaultCacheBytes(uint64_t memory = MemoryLimit());

}  // namespace ctxfs
