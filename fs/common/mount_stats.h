// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ctxfs {

/// The samples without labels of a mount's `.ctxfs/stats` (docs/tree.md), by
/// name without "ctxfs_".
class MountStats {
 public:
  /// Parses Prometheus text. Skips values that are not whole numbers.
  static MountStats Parse(const std::string& text);

  /// Reads the samples of the mount at `point`; none if it does not answer this
  /// user within two seconds.
  static MountStats Of(const std::string& point);

  std::optional<uint64_t> Find(std::string_view name) const;

  const std::map<std::string, uint64_t, std::less<>>& samples() const {
    return samples_;
  }

 private:
  std::map<std::string, uint64_t, std::less<>> samples_;
};

/// The lines of `.ctxfs/stats` about the daemon itself.
std::string DaemonStats(int pid, uint64_t cache_limit);

}  // namespace ctxfs
