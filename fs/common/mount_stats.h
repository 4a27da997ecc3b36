// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ctxfs {

/// The samples of a mount's `.ctxfs/stats` (docs/tree.md) that have no labels,
/// by their names without "ctxfs_".
class MountStats {
 public:
  /// Reads Prometheus text. Leaves out lines whose value is not a whole number.
  static MountStats Parse(const std::string& text);

  /// The samples of the mount at `point`; none if it does not answer this user
  /// within two seconds.
  static MountStats Of(const std::string& point);

  std::optional<uint64_t> Find(std::string_view name) const;

  const std::map<std::string, uint64_t, std::less<>>& samples() const {
    return samples_;
  }

 private:
  std::map<std::string, uint64_t, std::less<>> samples_;
};

/// The lines about the daemon itself in `.ctxfs/stats`.
std::string DaemonStats(int pid, uint64_t cache_limit);

}  // namespace ctxfs
