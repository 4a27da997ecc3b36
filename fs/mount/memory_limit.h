// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ctxfs {

/// Bytes of memory that this process may use: the minimum of the machine's
/// memory, the limits of its control groups (memory.max, memory.limit_in_bytes)
/// and its address space (ulimit -v). `root` is the directory that contains
/// /proc and /sys.
uint64_t MemoryLimit(const std::string& root = "");

/// Default of cache=, in bytes: an eighth of `memory`, at least 64 MiB and at
/// most 2 GiB.
uint64_t DefaultCacheBytes(uint64_t memory = MemoryLimit());

}  // namespace ctxfs
