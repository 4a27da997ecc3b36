// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ctxfs {

/// What `ctxfs mounts` shows of a mount's `.ctxfs/stats` (docs/tree.md).
struct MountStats {
  std::optional<uint64_t> pid;
  std::optional<uint64_t> cache_bytes;  // in use
  std::optional<uint64_t> cache_limit;
};

/// Reads Prometheus text. What is missing or not a number stays empty.
MountStats ParseMountStats(const std::string& text);

/// The lines about the daemon itself in `.ctxfs/stats`.
std::string DaemonStats(int pid, uint64_t cache_limit);

}  // namespace ctxfs
